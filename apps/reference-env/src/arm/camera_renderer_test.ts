import { afterAll, expect, test } from "vitest";
import { seededRandom } from "../seeded_random.ts";
import { ARM_MODEL } from "./arm_model.ts";
import { CameraRenderer } from "./camera_renderer.ts";
import { loadMujoco } from "./mujoco.ts";

const SIZE = 48;
const mujoco = await loadMujoco();

/** Solids of one colour each, and a camera, which are put anywhere. */
const model = mujoco.MjModel.from_xml_string(`<mujoco><worldbody>
  <body mocap="true"><camera name="eye" fovy="70"/></body>
  <body mocap="true"><geom type="sphere" size=".2" rgba="1 0 0 1"/></body>
  <body mocap="true"><geom type="capsule" size=".1 .3" rgba="0 1 0 1"/></body>
  <body mocap="true"><geom type="cylinder" size=".15 .25" rgba="0 0 1 1"/></body>
  <body mocap="true"><geom type="box" size=".1 .2 .3" rgba="1 1 0 1"/></body>
</worldbody></mujoco>`);
const data = new mujoco.MjData(model);
const met = new mujoco.IntBuffer(1);

afterAll(() => {
  for (const held of [met, data, model]) held.delete();
});

/** Which solid each pixel shows by its colour; -1 for the ground and the sky, which have every colour. */
function shown(picture: Uint8Array): number[] {
  return Array.from({ length: SIZE * SIZE }, (_, pixel) => {
    const [r, g, b] = picture.subarray(3 * pixel, 3 * pixel + 3);
    if (b! > 0) return r! > 0 ? -1 : 2;
    return r! > 0 ? (g! > 0 ? 3 : 0) : 1;
  });
}

/** Which solid MuJoCo itself finds on the ray through each pixel. */
function found(): number[] {
  const eye = [...(data.cam_xpos as Float64Array)];
  const axes = [...(data.cam_xmat as Float64Array)];
  const reach = Math.tan((35 * Math.PI) / 180);
  return Array.from({ length: SIZE * SIZE }, (_, pixel) => {
    const u = (((pixel % SIZE) + 0.5) / (SIZE / 2) - 1) * reach;
    const v = (1 - (Math.floor(pixel / SIZE) + 0.5) / (SIZE / 2)) * reach;
    const ray = [0, 3, 6].map((row) => axes[row]! * u + axes[row + 1]! * v - axes[row + 2]!);
    const far = mujoco.mj_ray(model, data, eye, ray, [1, 1, 1, 1, 1, 1], true, -1, met, null);
    return far < 0 ? -1 : (met.GetView() as Int32Array)[0]!;
  });
}

test("each pixel shows the solid that MuJoCo finds there, from wherever it is seen", () => {
  const renderer = new CameraRenderer(model, SIZE);
  const random = seededRandom(4);
  const anywhere = (): number => 2 * random() - 1;
  const counts = [0, 0, 0, 0];
  for (let pose = 0; pose < 120; pose++) {
    for (let body = 0; body < 5; body++) {
      // Above the ground, whose rays MuJoCo does not know of.
      (data.mocap_pos as Float64Array).set([anywhere(), anywhere(), 2 + anywhere()], 3 * body);
      (data.mocap_quat as Float64Array).set(Array.from({ length: 4 }, anywhere), 4 * body);
    }
    mujoco.mj_forward(model, data);
    if (isInside()) continue;
    const [seen, expected] = [shown(renderer.render(data, 0)), found()];
    const differences = seen.filter((solid, pixel) => solid !== expected[pixel]);
    expect(differences.length, `pose ${String(pose)}`).toBe(0);
    for (const solid of expected) if (solid >= 0) counts[solid]!++;
  }
  for (const count of counts) expect(count).toBeGreaterThan(1_000);
}, 60_000);

/** Whether the camera is within a solid, which it sees nothing of and MuJoCo the back of. */
function isInside(): boolean {
  const [x, y, z] = data.cam_xpos as Float64Array;
  const places = data.geom_xpos as Float64Array;
  return [0, 1, 2, 3].some(
    (solid) =>
      Math.hypot(x! - places[3 * solid]!, y! - places[3 * solid + 1]!, z! - places[3 * solid + 2]!) < 0.4,
  );
}

test("a solid throws its shadow on the floor away from the light, and the floor beside it stays as it is", () => {
  const arm = mujoco.MjModel.from_xml_string(ARM_MODEL);
  const state = new mujoco.MjData(arm);
  const renderer = new CameraRenderer(arm, 224);
  const render = (ball: readonly number[]): Uint8Array => {
    (state.mocap_pos as Float64Array).set(ball);
    mujoco.mj_forward(arm, state);
    return renderer.render(state, 0);
  };
  const [without, withBall] = [render([0, 0, 5]), render([0.3, 0.1, 0.2])];
  /** The red of a point of the floor, in the picture of the front camera. */
  const redAt = (picture: Uint8Array, x: number, y: number): number => {
    const [eye, axes] = [[...(state.cam_xpos as Float64Array)], [...(state.cam_xmat as Float64Array)]];
    const [across, up, back] = [0, 1, 2].map(
      (column) =>
        axes[column]! * (x - eye[0]!) + axes[column + 3]! * (y - eye[1]!) - axes[column + 6]! * eye[2]!,
    );
    const focus = 112 / Math.tan(((arm.cam_fovy as Float64Array)[0]! * Math.PI) / 360);
    const [right, below] = [across! / -back!, up! / back!].map((part) => Math.floor(112 + focus * part));
    return picture[3 * (below! * 224 + right!)]!;
  };
  // The light comes from (0.25, -0.35, 0.9).
  const [x, y] = [0.3 - (0.2 * 0.25) / 0.9, 0.1 + (0.2 * 0.35) / 0.9];
  expect(redAt(withBall, x, y)).toBeLessThan(0.85 * redAt(without, x, y));
  expect(redAt(withBall, x + 0.08, y)).toBe(redAt(without, x + 0.08, y));
  expect(redAt(withBall, x, y + 0.08)).toBe(redAt(without, x, y + 0.08));
  state.delete();
  arm.delete();
});
