/** What a simulator in a process of its own and whoever started it agree on. */

/** The line that tells the port of the control channel. */
export const PORT_ANNOUNCEMENT = "HUD_SIM_PORT=";
/** Where to listen for agents: a socket in a private folder. Set, it also says that standard input ends with the parent. */
export const SOCKET_VARIABLE = "ENVPORT_ROBOT_SOCKET";
/** What a worker is told to end with. */
export const STOP_MESSAGE = "envport:stop";
