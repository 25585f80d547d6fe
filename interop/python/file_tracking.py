"""The peer's file-tracking observer on a workspace, through the peer's own connection and forwarders."""

import asyncio

import _scenario
import hud.eval.file_tracking as file_tracking
from hud.clients import connect
from hud.eval.runtime import Runtime
from hud.settings import settings


async def observed(url):
    """What the observer would have sent home: its spans, kept here instead."""
    spans = []
    file_tracking.queue_span = spans.append
    file_tracking.get_current_trace_id = lambda: "0123456789abcdef0123456789abcdef"
    settings.telemetry_enabled = True
    settings.file_tracking_interval = 0.1
    try:
        async with connect(Runtime(url)) as client:
            async with file_tracking.file_tracking_observer(client):
                shell = await client.open("ssh")
                await shell.run("echo first > a.txt; printf '%%PDF-1.4 report' > report.pdf; echo KEY=1 > .env")
                await asyncio.sleep(1)
                await shell.run("echo second >> a.txt; rm seed.txt")
    finally:
        settings.telemetry_enabled = False
    return spans


if __name__ == "__main__":
    _scenario.main(globals())
