// Line drawings, sixteen units square, in the colour of the surrounding text.

const PATHS = {
  account: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11ZM2.5 8h11M8 2.5c-3.4 3.2-3.4 7.8 0 11 3.4-3.2 3.4-7.8 0-11Z",
  add: "M8 3v10M3 8h10",
  cancel: "M4 4l8 8M12 4l-8 8",
  chart: "M2.5 13.5h11M4.5 13V8.5M8 13V3.5M11.5 13V6",
  chevron: "M6 3.5 10.5 8 6 12.5",
  container: "M2.5 4.5h11v8h-11zM2.5 7.5h11M6 4.5v8",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  database: "M3 4c0-2 10-2 10 0v8c0 2-10 2-10 0ZM3 4c0 2 10 2 10 0M3 8c0 2 10 2 10 0",
  delete: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4",
  download: "M8 2.5v7.5M5 7.5 8 10.5l3-3M3 13.5h10",
  duplicate: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3M9.5 7.5v4M7.5 9.5h4",
  eye: "M1.5 8c3-5 10-5 13 0-3 5-10 5-13 0ZM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6Z",
  history: "M3 5.2A5.6 5.6 0 1 1 2.4 8M3 2.5v3h3M8 5v3.2l2.2 1.3",
  items: "M3 4h10M3 8h10M3 12h10",
  key: "M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8.2 7.8 2.5 13.5M4.5 11.5l1.5 1.5",
  leave: "M9.5 3h-6v10h6M7 8h6.5M11 5.5 13.5 8 11 10.5",
  log: "M3 2.5h10v11H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z",
  partitions: "M8 2.5a5.5 5.5 0 1 0 5.5 5.5H8ZM10 2.6A5.5 5.5 0 0 1 13.4 6H10Z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2v9.6L12.5 8Z",
  query: "M2.5 4l4 4-4 4M8 12.5h5.5",
  refresh: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v3h-3",
  save: "M3 3h8l2 2v8H3zM5.5 3v3.5h4V3M5.5 13V9.5h5V13",
  scripts: "M6 3c-2 0-1 4-3 5 2 1 1 5 3 5M10 3c2 0 1 4 3 5-2 1-1 5-3 5",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9ZM10.2 10.2l3.3 3.3",
  settings: "M2.5 5h7M12.5 5h1M2.5 11h1M6.5 11h7M11 3.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3ZM5 9.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3Z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  tick: "M3 8.5 6.5 12 13 4.5",
  upload: "M8 10.5V3M5 5.5 8 2.5l3 3M3 13.5h10",
  users: "M6 3a2.3 2.3 0 1 0 0 4.6A2.3 2.3 0 0 0 6 3ZM2 13c0-5 8-5 8 0M10.5 3.4a2.2 2.2 0 0 1 0 4M11.5 9.6c1.7.4 2.5 1.6 2.5 3.4",
  warning: "M8 2.5 14 13H2ZM8 6.5v3M8 11v.6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The logo of the product: bodies on their orbits. */
export function Mark({ turning = false }: { turning?: boolean }) {
  return (
    <svg class={turning ? "mark turning" : "mark"} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <circle class="orbit" cx="16" cy="16" r="13" />
      <circle class="orbit near" cx="16" cy="16" r="7.5" />
      <circle class="sun" cx="16" cy="16" r="3.1" />
      <g class="planet-far"><circle cx="4.75" cy="22.5" r="2.4" /></g>
      <g class="planet-near"><circle cx="21.3" cy="10.7" r="2" /></g>
    </svg>
  );
}
