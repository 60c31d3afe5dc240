// The lag of a region in the last minute, as a line.

export const SAMPLES = 120;
const WIDTH = 120;
const HEIGHT = 22;

export function LagLine({ samples, name }: { samples: number[]; name: string }) {
  const highest = Math.max(1, ...samples);
  const points = samples.map((records, index) => {
    const x = WIDTH - (samples.length - 1 - index) * (WIDTH / (SAMPLES - 1));
    return `${x.toFixed(1)},${(HEIGHT - 2 - (records / highest) * (HEIGHT - 4)).toFixed(1)}`;
  });
  return (
    <svg class="lag-line" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name} was at most ${Math.max(0, ...samples)} records behind in the last minute`}>
      <polyline points={points.join(" ")} />
    </svg>
  );
}
