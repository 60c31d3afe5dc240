// Sample data for an empty account: the bodies of an orrery.

import { createContainer, createDatabase } from "../../protocol/catalogue";
import { upsertItem } from "../../protocol/items";

const DATABASE = "sky";
const CONTAINER = "bodies";

type Row = [name: string, kind: string, around: string, radiusKm: number, days: number, year: number | null];

const ROWS: Row[] = [
  ["Sun", "star", "Milky Way", 695700, 0, null],
  ["Mercury", "planet", "Sun", 2439.7, 87.969, null],
  ["Venus", "planet", "Sun", 6051.8, 224.701, null],
  ["Earth", "planet", "Sun", 6371, 365.256, null],
  ["Mars", "planet", "Sun", 3389.5, 686.98, null],
  ["Jupiter", "planet", "Sun", 69911, 4332.59, null],
  ["Saturn", "planet", "Sun", 58232, 10759.22, null],
  ["Uranus", "planet", "Sun", 25362, 30688.5, 1781],
  ["Neptune", "planet", "Sun", 24622, 60195, 1846],
  ["Ceres", "dwarf planet", "Sun", 469.7, 1680.5, 1801],
  ["Pluto", "dwarf planet", "Sun", 1188.3, 90560, 1930],
  ["Moon", "moon", "Earth", 1737.4, 27.322, null],
  ["Phobos", "moon", "Mars", 11.1, 0.319, 1877],
  ["Deimos", "moon", "Mars", 6.3, 1.263, 1877],
  ["Io", "moon", "Jupiter", 1821.6, 1.769, 1610],
  ["Europa", "moon", "Jupiter", 1560.8, 3.551, 1610],
  ["Ganymede", "moon", "Jupiter", 2634.1, 7.155, 1610],
  ["Callisto", "moon", "Jupiter", 2410.3, 16.689, 1610],
  ["Mimas", "moon", "Saturn", 198.2, 0.942, 1789],
  ["Enceladus", "moon", "Saturn", 252.1, 1.37, 1789],
  ["Tethys", "moon", "Saturn", 531.1, 1.888, 1684],
  ["Dione", "moon", "Saturn", 561.4, 2.737, 1684],
  ["Rhea", "moon", "Saturn", 763.8, 4.518, 1672],
  ["Titan", "moon", "Saturn", 2574.7, 15.945, 1655],
  ["Iapetus", "moon", "Saturn", 734.5, 79.322, 1671],
  ["Miranda", "moon", "Uranus", 235.8, 1.413, 1948],
  ["Ariel", "moon", "Uranus", 578.9, 2.52, 1851],
  ["Umbriel", "moon", "Uranus", 584.7, 4.144, 1851],
  ["Titania", "moon", "Uranus", 788.4, 8.706, 1787],
  ["Oberon", "moon", "Uranus", 761.4, 13.463, 1787],
  ["Triton", "moon", "Neptune", 1353.4, 5.877, 1846],
  ["Nereid", "moon", "Neptune", 170, 360.136, 1949],
  ["Charon", "moon", "Pluto", 606, 6.387, 1978],
];

/** Creates the sample and returns its location. */
export async function createSample() {
  await createDatabase(DATABASE, { mode: "none" });
  const definition = { paths: ["/around"], kind: "Hash", version: 2 } as const;
  const partitionKey = { ...definition, paths: [...definition.paths] };
  await createContainer(DATABASE, { id: CONTAINER, partitionKey }, { mode: "manual", value: 400 });
  const name = { database: DATABASE, container: CONTAINER };
  for (const [body, kind, around, radiusKm, days, discovered] of ROWS) {
    const item = { id: body.toLowerCase(), name: body, kind, around, radiusKm, orbit: { days }, discovered };
    await upsertItem({ name, definition: partitionKey }, item);
  }
  return name;
}
