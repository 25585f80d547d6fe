import { once } from "node:events";
import { chmod, lstat, mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { EnvportError } from "@envport/wire";

/**
 * Binds a unix socket that only its owner can reach. It is made in a private folder, gets its mode, and is then moved to
 * its place, so that nobody connects in between; a folder that is missing is made with mode 0700, and a socket that no
 * program listens on any more is replaced.
 *
 * @param server What listens.
 * @param file The socket's path.
 * @param backlog Connections that wait to be accepted.
 * @returns What takes the socket away again.
 * @throws {EnvportError} `address-in-use` If a program listens there, or something else than a socket is there.
 */
export async function bindUnixSocket(
  server: net.Server,
  file: string,
  backlog: number,
): Promise<() => Promise<void>> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await checkFree(file);
  const private_ = await mkdtemp(path.join(folder, "."));
  try {
    const bound = path.join(private_, "s");
    server.listen({ path: bound, backlog });
    await once(server, "listening");
    await chmod(bound, 0o600);
    const { ino } = await lstat(bound);
    await rename(bound, file);
    return async () => {
      const now = await lstat(file).catch(() => undefined);
      if (now?.ino === ino) await rm(file, { force: true });
    };
  } finally {
    await rm(private_, { recursive: true, force: true });
  }
}

async function checkFree(file: string): Promise<void> {
  const stats = await lstat(file).catch(() => undefined);
  if (!stats) return;
  if (!stats.isSocket()) {
    throw new EnvportError(
      "address-in-use",
      `Cannot listen on unix://${file} as something else than a socket is there: remove it, or choose another path`,
    );
  }
  if (await answers(file)) {
    throw new EnvportError(
      "address-in-use",
      `Cannot listen on unix://${file} as another program does: choose another path`,
    );
  }
}

/** Whether a program listens on a socket, or may. */
async function answers(file: string): Promise<boolean> {
  const socket = net.connect({ path: file });
  try {
    await once(socket, "connect");
    return true;
  } catch (error) {
    return !["ECONNREFUSED", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "");
  } finally {
    socket.destroy();
  }
}
