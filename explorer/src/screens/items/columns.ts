// The most useful columns for items of any shape: the id, the partition key, then other properties.

import { type Item, type PartitionKeyDefinition, segmentsOf, valueAt } from "../../protocol/partition_key";
import type { Column } from "../../ui/data_grid";
import { moment } from "../../ui/format";

const MORE_COLUMNS_MAX = 5;
const ITEMS_LOOKED_AT = 50;

export function columnsOf(items: Item[], definition: PartitionKeyDefinition): Column[] {
  const keyPaths = definition.paths.filter((path) => path !== "/id");
  const taken = new Set(["id", ...keyPaths.map((path) => segmentsOf(path)[0])]);
  const counts = new Map<string, number>();
  for (const item of items.slice(0, ITEMS_LOOKED_AT)) {
    for (const name of Object.keys(item)) {
      if (!name.startsWith("_") && !taken.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const often = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MORE_COLUMNS_MAX);
  return [
    { title: "id", value: (row) => (row as Item)["id"] },
    ...keyPaths.map((path): Column => ({ title: path, value: (row) => valueAt(row, segmentsOf(path)) })),
    ...often.map(([name]): Column => ({ title: name, value: (row) => (row as Item)[name] })),
    { title: "changed", value: (row) => moment(Number((row as Item)["_ts"])) },
  ];
}
