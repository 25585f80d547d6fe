"""The peer's client of filetracking/1: argv[1] is a URL, each line of input a method; prints each reply in a line."""

import asyncio
import json
import sys

from hud.capabilities import Capability
from hud.eval.file_tracking import FileTrackingClient


async def main() -> None:
    client = await FileTrackingClient.connect(Capability("filetracking", "filetracking/1", sys.argv[1]))
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        try:
            reply = await client.call(line.strip())
        except RuntimeError as failure:
            reply = {"failure": str(failure)}
        print(json.dumps(reply), flush=True)
    await client.close()


asyncio.run(main())
