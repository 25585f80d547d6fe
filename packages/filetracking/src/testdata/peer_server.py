"""The peer's filetracking/1 server on a folder: prints its port, and serves until its input ends."""

import asyncio
import sys

from hud.environment.file_tracker import FileTracker, serve_file_tracking


async def main() -> None:
    tracker = FileTracker(sys.argv[1])
    tracker.take_baseline()
    server = await serve_file_tracking(tracker)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
