"""The peer's RobotEndpoint and RobotClient drive a bridge of ours: its control port comes as an argument."""

import asyncio
import json
import sys

import numpy as np
from hud.capabilities.robot import RobotClient
from hud.environment.robot import RobotEndpoint


def show(value):
    return {"dtype": value.dtype.str, "shape": list(value.shape), "values": value.tolist()}


async def play(endpoint, capability, token, step):
    robot = await RobotClient.connect(capability, token=token)
    seen = []
    obs = await robot.get_observation()
    while not obs["terminated"]:
        await robot.send_action(np.full(2, step))
        obs = await robot.get_observation()
        seen.append([float(obs["data"]["count"][0]), float(obs["reward"])])
    last = {name: show(value) for name, value in obs["data"].items()}
    action, observations = robot.spaces()
    await robot.close()
    return {
        "seen": seen,
        "last": last,
        "reward": type(obs["reward"]).__name__,
        "action": action,
        "observations": list(observations),
        "rate": robot.get_control_rate(),
        "contract": robot.contract == capability.params["contract"],
        "result": await endpoint.result(token=token),
    }


async def refused(coroutine):
    try:
        await coroutine
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def errors(endpoint, capability):
    """What its client shows of our refusals."""
    episode = await endpoint.reset(seed=2)
    report = {"token": await refused(RobotClient.connect(capability, token="slot-7-no"))}
    robot = await RobotClient.connect(capability, token=episode["token"])
    await robot.get_observation()
    await robot.send_action(np.zeros(5))
    report["width"] = await refused(robot.get_observation())
    await robot.close()
    report["kwargs"] = await refused(endpoint.reset(seed=3))
    report["method"] = await refused(endpoint._call("nope"))
    await endpoint.result(token=episode["token"])
    report["twice"] = await refused(endpoint.result(token=episode["token"]))
    return report


async def main(port, slots):
    endpoint = RobotEndpoint.remote("127.0.0.1", port)
    await endpoint.start()
    (capability,) = await endpoint.capabilities("arm")
    episodes = [await endpoint.reset(seed=1) for _ in range(slots)]
    played = await asyncio.gather(
        *(play(endpoint, capability, ep["token"], i + 1.5) for i, ep in enumerate(episodes))
    )
    report = {
        "capability": [capability.name, capability.protocol, capability.url == await endpoint.url()],
        "contract": await endpoint.contract() == capability.params["contract"],
        "prompts": [ep["prompt"] for ep in episodes],
        "played": played,
        "errors": await errors(endpoint, capability),
    }
    await endpoint.stop()
    print("REPORT " + json.dumps(report), flush=True)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
