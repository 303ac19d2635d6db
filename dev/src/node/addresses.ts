import { randomInt } from 'node:crypto'

/** Gives each pod an address of 127.42.0.0/16, at random so that two nodes on one machine rarely meet. */
export function addressPool(): { take: () => string; release: (address: string) => void } {
  const used = new Set<string>()
  return {
    take: () => {
      for (;;) {
        const address = `127.42.${randomInt(0, 256)}.${randomInt(1, 255)}`
        if (used.has(address)) continue
        used.add(address)
        return address
      }
    },
    release: (address) => used.delete(address),
  }
}
