// The partitions that the last query of this tab read, for the map.

import { signal } from "@preact/signals";
import type { ContainerName } from "../../protocol/catalogue";

export const touched = signal<{ name: ContainerName; partitions: string[] } | undefined>(undefined);
