/** Serves a screen and says where, until it is killed. */
import { Screen } from "./screen.ts";

const screen = new Screen({ server: process.argv[2] as "tigervnc", run: ["xterm -e 'setsid sleep 1000'"] });
await screen.start();
console.log(JSON.stringify({ display: screen.display, env: screen.env, dial: screen.capability.dial }));
setInterval(() => undefined, 1_000);
