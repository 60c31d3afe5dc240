// The positions of regions in the picture, and the curves of the links between them.

export interface Point {
  x: number;
  y: number;
}

export const WIDTH = 720;
export const RADIUS = 26;
export const RADII: Point = { x: 260, y: 165 };
export const CENTRE: Point = { x: WIDTH / 2, y: 240 };
/** The margin above and below the outermost regions, for their names. */
const MARGIN = 78;
/** How far a link bends away from the straight line, so that the two directions do not overlap. */
const BEND = 0.13;
/** The gap between the end of a link and its region. */
const GAP = 8;

/** The position of a region on a circle, the first one at the top. Two regions are side by side. */
export function position(index: number, count: number): Point {
  const first = count === 2 ? Math.PI : -Math.PI / 2;
  const angle = first + (index / count) * 2 * Math.PI;
  const radii = count === 1 ? { x: 0, y: 0 } : RADII;
  return { x: CENTRE.x + Math.cos(angle) * radii.x, y: CENTRE.y + Math.sin(angle) * radii.y };
}

/** The visible part of the picture. */
export function viewBox(positions: Point[]): string {
  const heights = positions.map(({ y }) => y);
  const [top, bottom] = [Math.min(...heights) - MARGIN, Math.max(...heights) + MARGIN];
  return `0 ${top.toFixed(0)} ${WIDTH} ${(bottom - top).toFixed(0)}`;
}

/** Whether the name of a region is above it. Names are outside of the circle, where no link runs. */
export function isAbove({ y }: Point): boolean {
  return y < CENTRE.y - 1;
}

/** A curve from one region to another, and its middle. */
export function curve(from: Point, to: Point): { path: string; middle: Point } {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const bent = { x: (from.x + to.x) / 2 + dy * BEND, y: (from.y + to.y) / 2 - dx * BEND };
  const begin = towards(from, bent, RADIUS + GAP);
  const end = towards(to, bent, RADIUS + GAP);
  const middle = { x: (begin.x + 2 * bent.x + end.x) / 4, y: (begin.y + 2 * bent.y + end.y) / 4 };
  return { path: `M${text(begin)}Q${text(bent)} ${text(end)}`, middle };
}

function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return { x: from.x + ((to.x - from.x) / length) * distance, y: from.y + ((to.y - from.y) / length) * distance };
}

function text({ x, y }: Point): string {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}
