// The physical partitions of a container, with their content and their load.

import { type ContainerName, containerLink, containerPath, readFeed } from "./catalogue";
import { ProtocolError } from "./errors";
import { send } from "./request";

/** A physical partition. */
export interface Partition {
  id: string;
  minInclusive: string;
  maxExclusive: string;
  parents: string[];
  /** Absent if the server only lists key ranges. */
  load?: PartitionLoad;
}

/** The size and the load of a partition, which only Orrery reports. */
export interface PartitionLoad {
  items: number;
  bytes: number;
  lsn: number;
  throughput: {
    /** Null without provisioned throughput. */
    provisioned: number | null;
    used: number;
    /** The used fraction of the provisioned throughput; it may exceed 1. */
    normalized: number;
    charged: number;
    requests: number;
    throttled: number;
  };
  hotKeys: { key: unknown[]; charge: number; share: number }[];
}

type Reported = Omit<Partition, "load"> & PartitionLoad;

/** Reads the partitions with their load, or only their ranges from another server. */
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
    // Other servers with the same protocol have only the list of ranges.
    if (!(error instanceof ProtocolError) || error.status >= 500) throw error;
    return readRanges(name);
  }
}

/** Reads the key ranges, which every server of the protocol has. */
async function readRanges(name: ContainerName): Promise<Partition[]> {
  const request = { path: [...containerPath(name), "pkranges"], type: "pkranges", link: containerLink(name) };
  const ranges = await readFeed<Partition>(request, "PartitionKeyRanges");
  return ranges.map(({ id, minInclusive, maxExclusive, parents }) => ({ id, minInclusive, maxExclusive, parents: parents ?? [] }));
}
