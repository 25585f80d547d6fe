import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** What a control group can bound, all processes of a sandbox together. */
export interface CgroupLimits {
  /** Bytes, swap included. */
  readonly memory?: number | undefined;
  readonly processes?: number | undefined;
}

type Controller = "memory" | "pids";

/** A hierarchy that has a controller, and this process's place in it. */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly mount: string;
  readonly own: string;
}

/** The files of each controller's limit, by version; not every kernel accounts for swap. */
const FILES: Record<Controller, Record<1 | 2, readonly (readonly [file: string, required: boolean])[]>> = {
  memory: {
    1: [
      ["memory.limit_in_bytes", true],
      ["memory.memsw.limit_in_bytes", false],
    ],
    2: [
      ["memory.max", true],
      ["memory.swap.max", false],
    ],
  },
  pids: { 1: [["pids.max", true]], 2: [["pids.max", true]] },
};

const PREFIX = "envport-";
const REMOVE_TRIES = 50;

/**
 * Control groups of one sandbox, where this process may make some: as root, or in a subtree delegated to its user.
 * Version 1 and 2, also side by side.
 */
export class Cgroup {
  readonly #groups = new Map<string, 1 | 2>();
  readonly #enforced = new Set<keyof CgroupLimits>();

  /**
   * Makes groups for what it can; `enforces` tells which.
   *
   * @param limits What to bound.
   * @param proc Where the kernel tells about this process.
   */
  constructor(limits: CgroupLimits, proc = "/proc/self") {
    const name = `${PREFIX}${String(process.pid)}-${randomBytes(4).toString("hex")}`;
    for (const [limit, controller] of [
      ["memory", "memory"],
      ["processes", "pids"],
    ] as const) {
      const value = limits[limit];
      const hierarchy = value === undefined ? undefined : findHierarchy(controller, proc);
      if (value === undefined || hierarchy === undefined) continue;
      const group = placesFor(hierarchy).find((parent) =>
        bound(parent, name, hierarchy.version, controller, value),
      );
      if (group === undefined) continue;
      this.#groups.set(join(group, name), hierarchy.version);
      this.#enforced.add(limit);
    }
  }

  /** Whether the groups bound this. */
  enforces(limit: keyof CgroupLimits): boolean {
    return this.#enforced.has(limit);
  }

  /** Puts processes into the groups; what they start later is in them too. */
  confine(pids: readonly number[]): void {
    for (const group of this.#groups.keys()) {
      for (const pid of pids) writeFileSync(join(group, "cgroup.procs"), String(pid));
    }
  }

  /** Removes the groups once their processes are gone; the kernel may take a moment to notice. */
  async release(): Promise<void> {
    for (const group of this.#groups.keys()) {
      for (let tries = REMOVE_TRIES; tries > 0 && !removed(group); tries--) await sleep(20);
    }
    this.#groups.clear();
  }
}

function removed(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Makes a group with a limit below a parent, or adds the limit to one; false leaves nothing behind. */
function bound(parent: string, name: string, version: 1 | 2, controller: Controller, value: number): boolean {
  const group = join(parent, name);
  const isNew = !existsSync(group);
  try {
    removeAbandoned(parent);
    if (version === 2) enable(parent, controller);
    if (isNew) mkdirSync(group);
    accessSync(join(group, "cgroup.procs"), constants.W_OK);
    for (const [file, required] of FILES[controller][version]) {
      if (!required && !existsSync(join(group, file))) continue;
      const limit = file === "memory.swap.max" ? 0 : Math.floor(value);
      writeFileSync(join(group, file), String(limit), { flag: "r+" });
    }
    return true;
  } catch {
    if (isNew) removed(group);
    return false;
  }
}

/** Version 2 gives children a controller only when told; it refuses where the parent has processes of its own. */
function enable(parent: string, controller: Controller): void {
  const file = join(parent, "cgroup.subtree_control");
  if (!readFileSync(file, "utf8").split(/\s+/).includes(controller))
    writeFileSync(file, `+${controller}`, { flag: "r+" });
}

/** Groups of serving processes that were killed; one with processes in it cannot be removed. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^envport-(\d+)-[0-9a-f]{8}$/.exec(name) ?? [];
    if (pid === undefined || Number(pid) === process.pid) continue;
    try {
      process.kill(Number(pid), 0);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") removed(join(parent, name));
    }
  }
}

/** Below this process's own group, or beside it: version 2 allows no group with both processes and limited children. */
function placesFor({ version, mount, own }: Hierarchy): string[] {
  return version === 1 || own === mount ? [own] : [own, dirname(own)];
}

function findHierarchy(controller: Controller, proc: string): Hierarchy | undefined {
  try {
    const mounts = readFileSync(join(proc, "mountinfo"), "utf8").split("\n").map(parseMount);
    const places = readFileSync(join(proc, "cgroup"), "utf8").trim().split("\n");
    const one = mounts.find((mount) => mount?.type === "cgroup" && mount.options.includes(controller));
    if (one !== undefined) {
      const place = places.find((line) => line.split(":")[1]!.split(",").includes(controller));
      return { version: 1, mount: one.point, own: locate(one, place) };
    }
    const two = mounts.find((mount) => mount?.type === "cgroup2");
    if (two === undefined) return undefined;
    const own = locate(
      two,
      places.find((line) => line.startsWith("0::")),
    );
    const offered = readFileSync(join(two.point, "cgroup.controllers"), "utf8").trim().split(" ");
    return offered.includes(controller) ? { version: 2, mount: two.point, own } : undefined;
  } catch {
    return undefined;
  }
}

interface CgroupMount {
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** `36 35 98:0 /root /point rw,noatime shared:1 - cgroup source rw,memory` */
function parseMount(line: string): CgroupMount | undefined {
  const [left = "", right] = line.split(" - ");
  const [, , , root = "", point = ""] = left.split(" ");
  const [type = "", , options = ""] = right?.split(" ") ?? [];
  return type.startsWith("cgroup") ? { root, point, type, options: options.split(",") } : undefined;
}

/** The folder of `id:controllers:/path`; a container may see only a part of the hierarchy. */
function locate({ root, point }: CgroupMount, place: string | undefined): string {
  const path = place?.split(":").slice(2).join(":") ?? "/";
  if (root === "/") return join(point, path);
  return path === root || path.startsWith(`${root}/`) ? join(point, path.slice(root.length)) : point;
}
