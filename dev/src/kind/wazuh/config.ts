/** Which of the parts this container is, and what the chart tells it. */
export const part = (): string => process.env['PART'] ?? ''

/** As the images of Wazuh do, these end at once when something that they need is not given. */
export function needed(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '') throw new Error(`${name} is not set`)
  return value
}
