"""What befalls a region: `python operate.py cut "North Europe"`, then `heal`; `down`, then `up`."""

import argparse
import sys

from content_platform import Deployment, Operators
from run import DEPLOYMENT

DEEDS = {"cut": "cut off", "heal": "connected", "down": "down", "up": "up"}


def parse(words):
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--deployment", default=DEPLOYMENT, help="what run.py wrote")
    arguments.add_argument("deed", choices=DEEDS)
    arguments.add_argument("region")
    return arguments.parse_args(words)


def operate(deployment, chosen):
    getattr(Operators(deployment), chosen.deed)(chosen.region)
    return f"{chosen.region} is {DEEDS[chosen.deed]}"


def main():
    chosen = parse(sys.argv[1:])
    print(operate(Deployment.load(chosen.deployment), chosen))


if __name__ == "__main__":
    main()
