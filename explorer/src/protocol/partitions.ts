// Physical partitions of a container with what they hold and do.

import { type ContainerName, containerLink, containerPath, readFeed } from "./catalogue";
import { ProtocolError } from "./errors";
import { send } from "./request";

export interface Partition {
  id: string;
  minInclusive: string;
  maxExclusive: string;
  parents: string[];
  /** Absent when the server only lists ranges. */
  load?: PartitionLoad;
}

export interface PartitionLoad {
  items: number;
  bytes: number;
  lsn: number;
  throughput: {
    /** Absent where nothing is provisioned. */
    provisioned: number | null;
    used: number;
    /** Of what is provisioned, from 0 to 1 and above. */
    normalized: number;
    charged: number;
    requests: number;
    throttled: number;
  };
  hotKeys: { key: unknown[]; charge: number; share: number }[];
}

type Reported = Omit<Partition, "load"> & PartitionLoad;

export async function readPartitions(name: ContainerName): Promise<Partition[]> {
  try {
    const { body } = await send<{ partitions: Reported[] }>({
      path: ["_orrery", ...containerPath(name), "partitions"],
      type: "partitions",
      link: containerLink(name),
    });
    return body.partitions.map(({ id, minInclusive, maxExclusive, parents, ...load }) => ({
      id,
      minInclusive,
      maxExclusive,
      parents,
      load,
    }));
  } catch (error) {
    // Another server that speaks the protocol has only the list of ranges.
    if (!(error instanceof ProtocolError) || error.status >= 500) throw error;
    return readRanges(name);
  }
}

async function readRanges(name: ContainerName): Promise<Partition[]> {
  const ask = { path: [...containerPath(name), "pkranges"], type: "pkranges", link: containerLink(name) };
  const ranges = await readFeed<Partition>(ask, "PartitionKeyRanges");
  return ranges.map(({ id, minInclusive, maxExclusive, parents }) => ({ id, minInclusive, maxExclusive, parents: parents ?? [] }));
}
