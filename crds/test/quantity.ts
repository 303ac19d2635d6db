const SCALES: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** The number behind a Kubernetes quantity; NaN for what is none, so that no comparison holds. */
export function quantity(text: string): number {
  const [, number = '', unit = ''] = /^([0-9.]+)([A-Za-z]*)$/.exec(text) ?? []
  return number === '' ? Number.NaN : Number(number) * (SCALES[unit] ?? Number.NaN)
}
