// From key ranges to arcs of a circle.

import type { Partition } from "../../protocol/partitions";

export interface Arc {
  /** Fractions of the circle, clockwise from the top. */
  from: number;
  to: number;
}

/** The first values beyond the current hash, which leaves the two highest bits of the first byte unset. */
const HIGHEST_V2 = 0x40_00_00_00;
const DIGITS = 8;

/** Ranges of the current hash are drawn to scale. Ranges of the old hash have encoded numbers as bounds, which
 * have no meaningful width, so each of them gets an equal share. */
export function arcs(partitions: Partition[]): Arc[] {
  const bounds = partitions.map((partition) => [number(partition.minInclusive), number(partition.maxExclusive)] as const);
  const toScale = partitions.every((partition) => partition.minInclusive < "40" && (partition.maxExclusive === "FF" || partition.maxExclusive <= "40"));
  if (!toScale) return partitions.map((_, index) => ({ from: index / partitions.length, to: (index + 1) / partitions.length }));
  return bounds.map(([from, to]) => ({ from: from / HIGHEST_V2, to: Math.min(to / HIGHEST_V2, 1) }));
}

function number(bound: string): number {
  return parseInt(bound.slice(0, DIGITS).padEnd(DIGITS, "0") || "0", 16);
}

/** The outline of a sector of a ring. */
export function sector(arc: Arc, inner: number, outer: number, gap: number): string {
  const whole = arc.to - arc.from >= 0.9999;
  const [from, to] = whole ? [0, 0.9999] : [arc.from + gap, arc.to - gap];
  const point = (share: number, radius: number) => {
    const angle = (share - 0.25) * 2 * Math.PI;
    return `${(Math.cos(angle) * radius).toFixed(2)} ${(Math.sin(angle) * radius).toFixed(2)}`;
  };
  const large = to - from > 0.5 ? 1 : 0;
  return `M${point(from, outer)}A${outer} ${outer} 0 ${large} 1 ${point(to, outer)}L${point(to, inner)}A${inner} ${inner} 0 ${large} 0 ${point(from, inner)}Z`;
}

export function middle(arc: Arc, radius: number): { x: number; y: number } {
  const angle = ((arc.from + arc.to) / 2 - 0.25) * 2 * Math.PI;
  return { x: Math.cos(angle) * radius, y: Math.sin(angle) * radius };
}
