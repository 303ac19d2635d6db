import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { kindConfig } from './kind-config.ts'

const additions = { auditDir: '/data/audit', ports: new Map([[30_080, 41_000]]) }

describe('the configuration of a kind cluster', () => {
  it('has an audit log and the ports on its control plane', () => {
    const config = parse(kindConfig('', additions))
    expect(config).toMatchObject({ kind: 'Cluster', apiVersion: 'kind.x-k8s.io/v1alpha4' })
    expect(config.nodes).toHaveLength(1)
    expect(config.nodes[0].extraPortMappings).toEqual([
      { containerPort: 30_080, hostPort: 41_000, listenAddress: '127.0.0.1' },
    ])
    expect(config.nodes[0].extraMounts).toHaveLength(1)
    // With a version it would apply to that one alone.
    expect(parse(config.kubeadmConfigPatches[0])).not.toHaveProperty('apiVersion')
    expect(parse(config.kubeadmConfigPatches[0]).apiServer.extraArgs).toHaveProperty('audit-policy-file')
  })

  it('keeps all that the given one says', () => {
    const given = `
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: {disableDefaultCNI: true}
nodes: [{role: worker}, {role: control-plane, extraMounts: [{hostPath: /a, containerPath: /b}]}]
kubeadmConfigPatches: ["kind: KubeletConfiguration\\nfailCgroupV1: false\\n"]`
    const config = parse(kindConfig(given, additions))
    expect(config.networking).toEqual({ disableDefaultCNI: true })
    expect(config.nodes[0]).toEqual({ role: 'worker' })
    expect(config.nodes[1].extraMounts[0]).toEqual({ hostPath: '/a', containerPath: '/b' })
    expect(config.nodes[1].extraMounts).toHaveLength(2)
    expect(config.kubeadmConfigPatches[0]).toContain('failCgroupV1: false')
    expect(config.kubeadmConfigPatches).toHaveLength(2)
  })
})
