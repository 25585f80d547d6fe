import type { MjData, MjModel } from "@mujoco/mujoco";
import { hitBox, hitCapsule, hitCylinder, hitSphere } from "./ray_hits.ts";
import type { Ray, RayHit } from "./ray_hits.ts";

/** MuJoCo's numbers of the shapes (`mjtGeom`) that are drawn; the floor is drawn whether the model has one or not. */
const HITS: Readonly<Record<number, RayHit>> = { 2: hitSphere, 3: hitCapsule, 5: hitCylinder, 6: hitBox };
/** Where the light comes from. */
const LIGHT = unit([0.25, -0.35, 0.9]);
/** How far the floor is seen, in metres. */
const HORIZON = 1.6;
/** What of the light is left in a shadow. */
const SHADOW = 0.72;
const SKY = [214, 226, 238] as const;
const FLOOR = [236, 231, 222] as const;

/** A body of the model. */
interface Solid {
  readonly index: number;
  readonly hit: RayHit;
  readonly size: readonly number[];
  readonly colour: readonly number[];
  /** It lies within two balls of this radius, so far up and down its z axis, and what is between them. */
  readonly radius: number;
  readonly half: number;
  /** Where it is, and its axes as a matrix, by rows. */
  position: Float64Array;
  axes: Float64Array;
}

/** Where a picture is taken from. */
interface View {
  readonly position: Float64Array;
  readonly axes: Float64Array;
  /** Pixels from the eye to the picture. */
  readonly focus: number;
}

/** The pixels in which a solid may be seen. */
interface Window {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * Draws what a camera of a MuJoCo model sees, without a graphics card: rays against spheres, capsules, cylinders and boxes, a
 * light from far away, and shadows on a floor at height 0. The same state gives the same bytes.
 */
export class CameraRenderer {
  readonly size: number;
  readonly #fields: Float64Array;
  readonly #solids: readonly Solid[];
  readonly #depths: Float64Array;
  readonly #ray: Ray = { ox: 0, oy: 0, oz: 0, dx: 0, dy: 0, dz: 0 };
  readonly #normal: Float64Array = new Float64Array(3);

  /**
   * @param model What to draw.
   * @param size Width and height of a picture, in pixels.
   */
  constructor(model: MjModel, size: number) {
    this.size = size;
    this.#fields = Float64Array.from(model.cam_fovy as ArrayLike<number>);
    this.#solids = solidsOf(model);
    this.#depths = new Float64Array(size * size);
  }

  /**
   * Takes a picture.
   *
   * @param data The state of the model.
   * @param camera The camera's number.
   * @returns Red, green and blue, row by row from the top.
   */
  render(data: MjData, camera: number): Uint8Array {
    const {
      geom_xpos: positions,
      geom_xmat: matrices,
      cam_xpos,
      cam_xmat,
    } = data as unknown as Record<string, Float64Array>;
    for (const solid of this.#solids) {
      solid.position = positions!.slice(3 * solid.index, 3 * solid.index + 3);
      solid.axes = matrices!.slice(9 * solid.index, 9 * solid.index + 9);
    }
    const view = {
      position: cam_xpos!.slice(3 * camera, 3 * camera + 3),
      axes: cam_xmat!.slice(9 * camera, 9 * camera + 9),
      focus: this.size / 2 / Math.tan((this.#fields[camera]! * Math.PI) / 360),
    };
    const picture = new Uint8Array(this.size * this.size * 3);
    this.#drawGround(view, picture);
    this.#depths.fill(Number.POSITIVE_INFINITY);
    for (const solid of this.#solids) this.#drawSolid(solid, view, picture);
    return picture;
  }

  /** The floor with its tiles and shadows, which fades into the sky. */
  #drawGround({ position, axes, focus }: View, picture: Uint8Array): void {
    const [x0, y0, z0] = [position[0]!, position[1]!, position[2]!];
    const shades = this.#solids.map((solid) => shadeOf(solid));
    const bounds = boundsOf(shades);
    for (let row = 0, at = 0; row < this.size; row++) {
      const up = (this.size / 2 - row - 0.5) / focus;
      for (let column = 0; column < this.size; column++, at += 3) {
        const right = (column + 0.5 - this.size / 2) / focus;
        const dz = axes[6]! * right + axes[7]! * up - axes[8]!;
        const far = dz < 0 ? -z0 / dz : Number.POSITIVE_INFINITY;
        const x = x0 + far * (axes[0]! * right + axes[1]! * up - axes[2]!);
        const y = y0 + far * (axes[3]! * right + axes[4]! * up - axes[5]!);
        const fade = 1 - (x * x + y * y) / HORIZON ** 2;
        const share = fade > 0 ? fade : 0;
        const light = share > 0 ? this.#lightAt(x, y, shades, bounds) : 1;
        for (let channel = 0; channel < 3; channel++) {
          picture[at + channel] = SKY[channel]! + share * (FLOOR[channel]! * light - SKY[channel]!);
        }
      }
    }
  }

  /** How light the floor is at a point: by its tile, and whether it lies in a shadow. */
  #lightAt(x: number, y: number, shades: readonly Shade[], { west, east, south, north }: Bounds): number {
    const tile = (Math.floor(x * 10) + Math.floor(y * 10)) & 1 ? 0.93 : 1;
    const isNear = x > west && x < east && y > south && y < north;
    return isNear && this.#isShaded(x, y, shades) ? tile * SHADOW : tile;
  }

  /** Whether something stands between a point of the floor and the light. */
  #isShaded(x: number, y: number, shades: readonly Shade[]): boolean {
    for (let index = 0; index < shades.length; index++) {
      const shade = shades[index]!;
      const [dx, dy] = [x - shade.x, y - shade.y];
      if (dx * dx + dy * dy > shade.reach * shade.reach) continue;
      const { position, axes, hit, size } = this.#solids[index]!;
      this.#begin(axes, x - position[0]!, y - position[1]!, -position[2]!);
      this.#ray.dx = shade.light[0]!;
      this.#ray.dy = shade.light[1]!;
      this.#ray.dz = shade.light[2]!;
      if (hit(this.#ray, size, this.#normal) < Number.POSITIVE_INFINITY) return true;
    }
    return false;
  }

  #drawSolid(solid: Solid, view: View, picture: Uint8Array): void {
    const { left, right, top, bottom } = windowOf(solid, view, this.size);
    const { hit, size, axes, colour, position } = solid;
    const [ray, normal, depths] = [this.#ray, this.#normal, this.#depths];
    this.#begin(
      axes,
      view.position[0]! - position[0]!,
      view.position[1]! - position[1]!,
      view.position[2]! - position[2]!,
    );
    const [across, upward, back] = [0, 1, 2].map((column) =>
      inFrame(axes, view.axes[column]!, view.axes[3 + column]!, view.axes[6 + column]!),
    ) as [Float64Array, Float64Array, Float64Array];
    for (let row = top; row <= bottom; row++) {
      const v = (this.size / 2 - row - 0.5) / view.focus;
      for (let column = left; column <= right; column++) {
        const u = (column + 0.5 - this.size / 2) / view.focus;
        ray.dx = across[0]! * u + upward[0]! * v - back[0]!;
        ray.dy = across[1]! * u + upward[1]! * v - back[1]!;
        ray.dz = across[2]! * u + upward[2]! * v - back[2]!;
        const far = hit(ray, size, normal);
        const pixel = row * this.size + column;
        if (far >= depths[pixel]!) continue;
        depths[pixel] = far;
        const light = brightness(axes, normal);
        for (let channel = 0; channel < 3; channel++) {
          picture[3 * pixel + channel] = Math.min(255, colour[channel]! * light);
        }
      }
    }
  }

  /** The ray begins here, seen from the solid's centre. */
  #begin(axes: Float64Array, x: number, y: number, z: number): void {
    this.#ray.ox = axes[0]! * x + axes[3]! * y + axes[6]! * z;
    this.#ray.oy = axes[1]! * x + axes[4]! * y + axes[7]! * z;
    this.#ray.oz = axes[2]! * x + axes[5]! * y + axes[8]! * z;
  }
}

/** The pixels around a solid, which lies within two balls and what is between them. */
function windowOf({ position, axes: own, half, radius }: Solid, view: View, size: number): Window {
  const { position: eye, axes, focus } = view;
  const [middle, last] = [size / 2, size - 1];
  const slope = Math.hypot(focus, middle);
  const window = { left: last, right: 0, top: last, bottom: 0 };
  // Beyond which edges of the picture both balls are, a bit for each; and whether one is beside the eye.
  let [beyond, isBeside] = [0b1111, false];
  for (const end of half === 0 ? [0] : [-half, half]) {
    const dx = position[0]! + end * own[2]! - eye[0]!;
    const dy = position[1]! + end * own[5]! - eye[1]!;
    const dz = position[2]! + end * own[8]! - eye[2]!;
    const [x, y, depth] = [
      axes[0]! * dx + axes[3]! * dy + axes[6]! * dz,
      axes[1]! * dx + axes[4]! * dy + axes[7]! * dz,
      -(axes[2]! * dx + axes[5]! * dy + axes[8]! * dz),
    ];
    const sides = [x, -x, y, -y].map((side) => (side * focus - depth * middle) / slope > radius);
    beyond &= sides.reduce((bits, isBeyond, bit) => bits | (Number(isBeyond) << bit), 0);
    isBeside ||= depth < 1.5 * radius;
    const [column, row] = [middle + (focus * x) / depth, middle - (focus * y) / depth];
    // Towards the edge of a picture a ball is seen as an ellipse.
    const slant = Math.hypot(focus, column - middle, row - middle) / focus;
    const reach = (slant * focus * radius) / Math.sqrt(Math.max(depth ** 2 - radius ** 2, 1e-9)) + 1;
    window.left = Math.min(window.left, Math.max(0, Math.floor(column - reach)));
    window.right = Math.max(window.right, Math.min(last, Math.ceil(column + reach)));
    window.top = Math.min(window.top, Math.max(0, Math.floor(row - reach)));
    window.bottom = Math.max(window.bottom, Math.min(last, Math.ceil(row + reach)));
  }
  if (beyond !== 0) return { left: 0, right: -1, top: 0, bottom: -1 };
  return isBeside ? { left: 0, right: last, top: 0, bottom: last } : window;
}

/** Where the shadow of a solid falls at most, and the light in the solid's frame. */
interface Shade {
  readonly x: number;
  readonly y: number;
  readonly reach: number;
  readonly light: Float64Array;
}

/** A rectangle of the floor. */
interface Bounds {
  readonly west: number;
  readonly east: number;
  readonly south: number;
  readonly north: number;
}

/** All shadows lie within. */
function boundsOf(shades: readonly Shade[]): Bounds {
  return {
    west: Math.min(...shades.map(({ x, reach }) => x - reach)),
    east: Math.max(...shades.map(({ x, reach }) => x + reach)),
    south: Math.min(...shades.map(({ y, reach }) => y - reach)),
    north: Math.max(...shades.map(({ y, reach }) => y + reach)),
  };
}

function shadeOf({ position, axes, radius, half }: Solid): Shade {
  const height = position[2]! / LIGHT[2]!;
  return {
    x: position[0]! - height * LIGHT[0]!,
    y: position[1]! - height * LIGHT[1]!,
    reach: (radius + half) / LIGHT[2]!,
    light: inFrame(axes, LIGHT[0]!, LIGHT[1]!, LIGHT[2]!),
  };
}

function solidsOf(model: MjModel): Solid[] {
  const [types, sizes, colours] = [model.geom_type, model.geom_size, model.geom_rgba] as [
    Int32Array,
    Float64Array,
    Float32Array,
  ];
  return Array.from(types, (type, index): Solid[] => {
    const hit = HITS[type];
    if (!hit) return [];
    const size = [...sizes.slice(3 * index, 3 * index + 3)];
    const isLong = hit === hitCapsule || hit === hitCylinder;
    const radius = hit === hitBox ? Math.hypot(...size) : size[0]!;
    const half = isLong ? size[1]! : 0;
    const colour = Array.from(colours.slice(4 * index, 4 * index + 3), (part) => 255 * part);
    const placed = { position: new Float64Array(3), axes: new Float64Array(9) };
    return [{ index, hit, size, colour, radius, half, ...placed }];
  }).flat();
}

/** From the light above, from the sky, and from everywhere. */
function brightness(axes: Float64Array, [x, y, z]: Float64Array): number {
  const wx = axes[0]! * x! + axes[1]! * y! + axes[2]! * z!;
  const wy = axes[3]! * x! + axes[4]! * y! + axes[5]! * z!;
  const wz = axes[6]! * x! + axes[7]! * y! + axes[8]! * z!;
  const direct = wx * LIGHT[0]! + wy * LIGHT[1]! + wz * LIGHT[2]!;
  return 0.5 + 0.12 * wz + 0.5 * Math.max(0, direct);
}

/** A direction of the world in the frame of a solid. */
function inFrame(axes: Float64Array, x: number, y: number, z: number): Float64Array {
  return Float64Array.of(
    axes[0]! * x + axes[3]! * y + axes[6]! * z,
    axes[1]! * x + axes[4]! * y + axes[7]! * z,
    axes[2]! * x + axes[5]! * y + axes[8]! * z,
  );
}

function unit(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((part) => part / length);
}
