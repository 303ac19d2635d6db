import type { Container, LocalImage, Pod, Probe, Volume } from './types.ts'

/** An image reference without tag and digest. */
export function repositoryOf(image: string): string {
  const name = image.split('@')[0] ?? image
  const colon = name.lastIndexOf(':')
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name
}

export function imageFor(
  images: Readonly<Record<string, LocalImage>>,
  container: Container,
): LocalImage | undefined {
  const repository = repositoryOf(container.image)
  return Object.hasOwn(images, repository) ? images[repository] : undefined
}

/** What of a pod the local node cannot do, in words; empty when it can run it. */
export function unsupportedParts(pod: Pod): string[] {
  const { spec } = pod
  const found: string[] = []
  if ((spec.initContainers ?? []).length > 0) found.push('initContainers')
  for (const volume of spec.volumes ?? []) {
    if (!isSupportedVolume(volume)) found.push(`the kind of volume ${volume.name}`)
  }
  for (const container of spec.containers) found.push(...unsupportedInContainer(container))
  return found
}

function isSupportedVolume(volume: Volume): boolean {
  const kinds = [volume.secret, volume.configMap, volume.downwardAPI, volume.projected, volume.emptyDir]
  return kinds.some((kind) => kind !== undefined)
}

function unsupportedInContainer(container: Container): string[] {
  const found: string[] = []
  const where = `of container ${container.name}`
  const probes = {
    startup: container.startupProbe,
    readiness: container.readinessProbe,
    liveness: container.livenessProbe,
  }
  for (const [kind, probe] of Object.entries(probes)) {
    if (probe !== undefined && probe.httpGet === undefined && probe.tcpSocket === undefined) {
      found.push(`the ${kind} probe ${where} (only httpGet and tcpSocket)`)
    }
  }
  if ((container.env ?? []).some((each) => each.valueFrom?.resourceFieldRef !== undefined)) {
    found.push(`resourceFieldRef ${where}`)
  }
  if ((container.volumeMounts ?? []).some((mount) => mount.subPathExpr !== undefined)) {
    found.push(`subPathExpr ${where}`)
  }
  if (container.lifecycle?.postStart !== undefined) found.push(`the postStart hook ${where}`)
  const preStop = container.lifecycle?.preStop
  if (preStop !== undefined && preStop.sleep === undefined)
    found.push(`the preStop hook ${where} (only sleep)`)
  return found
}

/** The number of a probe's port, which may be the name of a container port. */
export function portNumber(container: Container, port: number | string): number | undefined {
  if (typeof port === 'number') return port
  const named = container.ports?.find((each) => each.name === port)?.containerPort
  return named ?? (/^\d+$/.test(port) ? Number(port) : undefined)
}

/** A probe with the defaults of the API filled in, times in milliseconds. */
export function timingOf(probe: Probe) {
  return {
    delayMs: (probe.initialDelaySeconds ?? 0) * 1000,
    periodMs: (probe.periodSeconds ?? 10) * 1000,
    timeoutMs: (probe.timeoutSeconds ?? 1) * 1000,
    successes: probe.successThreshold ?? 1,
    failures: probe.failureThreshold ?? 3,
  }
}

/** The value of a downward API field; undefined for a field that the local node does not know. */
export function podField(pod: Pod, podIp: string, hostIp: string, fieldPath: string): string | undefined {
  const { metadata, spec } = pod
  const member = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(fieldPath)
  if (member?.[1] !== undefined && member[2] !== undefined) {
    return (member[1] === 'labels' ? metadata.labels : metadata.annotations)?.[member[2]] ?? ''
  }
  const fields: Record<string, string> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'metadata.labels': asLines(metadata.labels),
    'metadata.annotations': asLines(metadata.annotations),
    'spec.nodeName': spec.nodeName ?? '',
    'spec.serviceAccountName': spec.serviceAccountName ?? 'default',
    'status.podIP': podIp,
    'status.podIPs': podIp,
    'status.hostIP': hostIp,
    'status.hostIPs': hostIp,
  }
  return Object.hasOwn(fields, fieldPath) ? fields[fieldPath] : undefined
}

function asLines(values: Readonly<Record<string, string>> = {}): string {
  return Object.entries(values)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join('\n')
}
