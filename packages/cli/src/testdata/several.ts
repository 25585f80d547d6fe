import { Environment } from "@envport/server";

export const first: Environment = new Environment({ name: "first" });
export const second: Environment = new Environment({ name: "second" });
export const third = "no environment";
