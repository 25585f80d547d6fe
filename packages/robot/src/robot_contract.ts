/** What a feature is to the agent. */
export type RobotFeatureRole = "observation" | "action";

/** What normalisers need to know of a feature: one number for each element, or for each channel of an image. */
export interface RobotFeatureStats {
  readonly mean?: readonly number[];
  readonly std?: readonly number[];
  readonly min?: readonly number[];
  readonly max?: readonly number[];
  readonly [key: string]: unknown;
}

/** One named array of an observation, or the action. Members that are not listed here are passed on as they are. */
export interface RobotFeature {
  readonly role: RobotFeatureRole;
  /**
   * `"rgb"`, `"bgr"`, `"gray"` and `"depth"` are images, height × width × channels; anything else is what agents agree on.
   */
  readonly type?: string;
  /** The element type by numpy's name, such as `"float32"`, or another word such as `"image"`. */
  readonly dtype?: string;
  /** The length of each dimension, of one slot; at least one dimension. */
  readonly shape?: readonly number[];
  /** What each element, or each dimension of an image, is called. */
  readonly names?: readonly string[];
  readonly stats?: RobotFeatureStats;
  readonly [key: string]: unknown;
}

/**
 * What an environment says of itself, so that an agent needs no other configuration. It crosses the wire as it is, under
 * these names.
 */
export interface RobotContract {
  /** What kind of robot it is: `"planar-arm-3"`. */
  readonly robot_type?: string;
  /** Actions each second, in hertz. */
  readonly control_rate?: number;
  /** By name; the first with the role `"action"` is the action. */
  readonly features: Readonly<Record<string, RobotFeature>>;
  readonly [key: string]: unknown;
}
