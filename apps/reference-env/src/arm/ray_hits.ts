/** A ray in the frame of a solid: where it begins, and where it goes. */
export interface Ray {
  ox: number;
  oy: number;
  oz: number;
  dx: number;
  dy: number;
  dz: number;
}

/** What a point on a face may be beside it, in metres. */
const ROUNDING = 1e-9;

/**
 * Where a ray meets a solid at first.
 *
 * @param ray In the solid's frame.
 * @param size As MuJoCo has it: half lengths of a box; a radius; a radius and half a length along z.
 * @param normal Told which way the surface looks there, if it is met.
 * @returns How far away, in lengths of the ray's direction; infinite if it is not met.
 */
export type RayHit = (ray: Ray, size: ArrayLike<number>, normal: Float64Array) => number;

export const hitSphere: RayHit = (ray, size, normal) => meetBall(ray, size[0]!, 0, normal);

export const hitCapsule: RayHit = (ray, size, normal) => {
  const [radius, half] = [size[0]!, size[1]!];
  const side = meetTube(ray, radius, half, normal);
  if (side < Number.POSITIVE_INFINITY) return side;
  // The nearer end is met first.
  const near = ray.dz < 0 ? half : -half;
  const first = meetBall(ray, radius, near, normal);
  return first < Number.POSITIVE_INFINITY ? first : meetBall(ray, radius, -near, normal);
};

export const hitCylinder: RayHit = (ray, size, normal) => {
  const [radius, half] = [size[0]!, size[1]!];
  const side = meetTube(ray, radius, half, normal);
  if (side < Number.POSITIVE_INFINITY || ray.dz === 0) return side;
  const at = ((ray.dz < 0 ? half : -half) - ray.oz) / ray.dz;
  const isOnLid = Math.hypot(ray.ox + at * ray.dx, ray.oy + at * ray.dy) <= radius;
  if (at <= 0 || !isOnLid) return Number.POSITIVE_INFINITY;
  face(normal, 0, 0, -Math.sign(ray.dz));
  return at;
};

export const hitBox: RayHit = ({ ox, oy, oz, dx, dy, dz }, size, normal) => {
  // Enters where the last of three slabs is entered, if none is left before.
  const atX = (-size[0]! * Math.sign(dx) - ox) / dx;
  const atY = (-size[1]! * Math.sign(dy) - oy) / dy;
  const atZ = (-size[2]! * Math.sign(dz) - oz) / dz;
  const enter = Math.max(dx === 0 ? 0 : atX, dy === 0 ? 0 : atY, dz === 0 ? 0 : atZ);
  const isHit =
    enter > 0 &&
    Math.abs(ox + enter * dx) <= size[0]! + ROUNDING &&
    Math.abs(oy + enter * dy) <= size[1]! + ROUNDING &&
    Math.abs(oz + enter * dz) <= size[2]! + ROUNDING;
  if (!isHit) return Number.POSITIVE_INFINITY;
  if (enter === atX) face(normal, -Math.sign(dx), 0, 0);
  else if (enter === atY) face(normal, 0, -Math.sign(dy), 0);
  else face(normal, 0, 0, -Math.sign(dz));
  return enter;
};

/** A ball on the z axis. */
function meetBall({ ox, oy, oz, dx, dy, dz }: Ray, radius: number, z: number, normal: Float64Array): number {
  const up = oz - z;
  const a = dx * dx + dy * dy + dz * dz;
  const b = ox * dx + oy * dy + up * dz;
  const discriminant = b * b - a * (ox * ox + oy * oy + up * up - radius * radius);
  if (discriminant < 0) return Number.POSITIVE_INFINITY;
  const at = (-b - Math.sqrt(discriminant)) / a;
  if (at <= 0) return Number.POSITIVE_INFINITY;
  face(normal, (ox + at * dx) / radius, (oy + at * dy) / radius, (up + at * dz) / radius);
  return at;
}

/** The side of a cylinder around the z axis. */
function meetTube(
  { ox, oy, oz, dx, dy, dz }: Ray,
  radius: number,
  half: number,
  normal: Float64Array,
): number {
  const a = dx * dx + dy * dy;
  const b = ox * dx + oy * dy;
  const discriminant = b * b - a * (ox * ox + oy * oy - radius * radius);
  if (a < 1e-12 || discriminant < 0) return Number.POSITIVE_INFINITY;
  const at = (-b - Math.sqrt(discriminant)) / a;
  if (at <= 0 || Math.abs(oz + at * dz) > half) return Number.POSITIVE_INFINITY;
  face(normal, (ox + at * dx) / radius, (oy + at * dy) / radius, 0);
  return at;
}

function face(normal: Float64Array, x: number, y: number, z: number): void {
  normal[0] = x;
  normal[1] = y;
  normal[2] = z;
}
