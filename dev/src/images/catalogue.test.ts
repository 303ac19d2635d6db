import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../system/paths.ts'
import { IMAGES } from './catalogue.ts'

describe('what goes into an image', () => {
  it.each(IMAGES)('$repository: lies where it is copied from', ({ entries, files, commands }) => {
    for (const entry of Object.values(commands)) expect(Object.keys(entries)).toContain(entry)
    for (const from of [...Object.values(entries), ...Object.values(files)])
      expect(existsSync(join(ROOT, from)), from).toBe(true)
  })

  it('holds what the API reads beside its bundle', () => {
    const { files } = IMAGES.find(({ room }) => room === 'api') ?? { files: {} }
    const { docs = '' } = files as Readonly<Record<string, string>>
    for (const name of ['page.html', 'page.css', 'page.js'])
      expect(existsSync(join(ROOT, docs, name)), name).toBe(true)
  })
})
