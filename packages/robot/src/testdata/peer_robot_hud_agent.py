"""The peer's whole client: a task of an environment of ours, its robot through the peer's own forwarder."""

import asyncio
import json
import sys

import numpy as np
from hud.capabilities.robot import RobotClient
from hud.clients import connect
from hud.eval.runtime import Runtime


async def main(url):
    async with connect(Runtime(url)) as client:
        started = await client.start_task("walk", {"seed": 1})
        token = started["bindings"]["robot"]["token"]
        robot = await RobotClient.connect(client.binding("openpi"), token=token)
        obs = await robot.get_observation()
        steps = 0
        while not obs["terminated"]:
            await robot.send_action(np.ones(1))
            obs = await robot.get_observation()
            steps += 1
        last = obs["data"]["obs"].tolist()
        await robot.close()
        grade = await client.grade({"answer": "done"})
        print("REPORT " + json.dumps({"steps": steps, "last": last, "grade": grade}), flush=True)


asyncio.run(main(sys.argv[1]))
