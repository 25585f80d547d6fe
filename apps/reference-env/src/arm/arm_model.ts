/** What the arm is like, in metres; its joints turn about z, y and y. */
export const GEOMETRY = {
  /** The height of the shoulder, above which the base turns. */
  shoulder_height: 0.12,
  upper_arm: 0.24,
  forearm: 0.2,
} as const;

/** The names of the joints, the base first. */
export const JOINTS = ["base", "shoulder", "elbow"] as const;

/** How far each joint may turn, in radians. Upright is 0, forward is positive. */
export const JOINT_RANGES: readonly (readonly [low: number, high: number])[] = [
  [-2.8, 2.8],
  [-0.6, 1.9],
  [0, 2.6],
];

/** The cameras: one that stands before the arm, and one above its forearm that looks along it. */
export const CAMERAS = ["front", "wrist"] as const;

const { shoulder_height: shoulder, upper_arm: upper, forearm } = GEOMETRY;
const ranges = JOINT_RANGES.map(([low, high]) => `range="${String(low)} ${String(high)}"`);

/**
 * The arm in MuJoCo's format (MJCF, https://mujoco.readthedocs.io/en/stable/XMLreference.html). Its motors hold a position, its
 * weight is balanced, and the ball is where it is put.
 */
export const ARM_MODEL: string = `<mujoco model="arm">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.005" integrator="implicitfast"/>
  <default>
    <joint damping="0.5" armature="0.01"/>
    <position kp="60" kv="5"/>
  </default>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="middle" pos=".13 0 .2"/>
    <camera name="front" pos=".78 -.5 .62" mode="targetbody" target="middle" fovy="42"/>
    <geom type="cylinder" size=".085 .02" pos="0 0 .02" rgba=".23 .25 .3 1"/>
    <body pos="0 0 .04" gravcomp="1">
      <joint name="base" axis="0 0 1" ${ranges[0]!}/>
      <geom type="cylinder" size=".055 .03" pos="0 0 .03" rgba=".33 .36 .42 1"/>
      <geom type="box" size=".035 .042 .03" pos="0 0 .07" rgba=".33 .36 .42 1"/>
      <body pos="0 0 ${String(shoulder - 0.04)}" gravcomp="1">
        <joint name="shoulder" axis="0 1 0" ${ranges[1]!}/>
        <geom type="capsule" fromto="0 0 0 0 0 ${String(upper)}" size=".03" rgba=".93 .47 .13 1"/>
        <body pos="0 0 ${String(upper)}" gravcomp="1">
          <joint name="elbow" axis="0 1 0" ${ranges[2]!}/>
          <geom type="cylinder" size=".034 .036" euler="1.5708 0 0" rgba=".23 .25 .3 1"/>
          <geom type="capsule" fromto="0 0 0 0 0 ${String(forearm - 0.03)}" size=".023" rgba=".96 .68 .22 1"/>
          <geom type="sphere" size=".017" pos="0 0 ${String(forearm)}" rgba=".15 .16 .2 1"/>
          <site name="tip" pos="0 0 ${String(forearm)}"/>
          <camera name="wrist" pos="-.095 0 .07" xyaxes="0 -1 0 -.9 0 .43" fovy="72"/>
        </body>
      </body>
    </body>
    <body name="ball" mocap="true" pos=".3 0 .2">
      <geom type="sphere" size=".022" rgba=".16 .72 .33 1" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <actuator>
    ${JOINTS.map((joint, index) => `<position joint="${joint}" ctrl${ranges[index]!}/>`).join("\n    ")}
  </actuator>
</mujoco>`;
