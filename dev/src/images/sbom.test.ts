import { describe, expect, it } from 'vitest'
import { prune } from './sbom.ts'

const part = (name: string, folder = `node_modules/${name}`) => ({
  SPDXID: `SPDXRef-${name.replaceAll(/\W/g, '.')}`,
  name,
  packageFileName: folder,
})
const [root, room, used, unused] = [part('service', ''), part('@service/api'), part('used'), part('unused')]
const link = (from: { SPDXID: string }, to: { SPDXID: string }) => ({
  spdxElementId: from.SPDXID,
  relatedSpdxElement: to.SPDXID,
  relationshipType: 'DEPENDENCY_OF',
})
const document = {
  packages: [root, room, used, unused],
  relationships: [link(room, root), link(used, room), link(unused, room)],
}

describe('a bill of materials', () => {
  it('holds the rooms and what was bundled, and no relationship to anything else', () => {
    const { packages, relationships } = prune(document, new Set(['node_modules/used']))
    expect(packages).toEqual([root, room, used])
    expect(relationships).toEqual([link(room, root), link(used, room)])
  })

  it('is refused when a bundled package stands nowhere in it', () => {
    expect(() => prune(document, new Set(['node_modules/other']))).toThrow('node_modules/other')
  })
})
