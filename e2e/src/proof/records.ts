/** Where a record stands for ever, as one text: `<incarnation>-<partition>-<offset>`. */
export type Place = string;

export function placeOf(incarnation: string, partition: number, offset: number): Place {
  return `${incarnation}-${partition}-${offset}`;
}

/** The number that an event carries. */
export function numberIn(value: Buffer): number {
  const { attributes } = JSON.parse(value.toString('utf8')) as { attributes?: { n?: number } };
  return attributes?.n ?? -1;
}
