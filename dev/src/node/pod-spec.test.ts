import { expect, it } from 'vitest'
import { imageFor, portNumber, repositoryOf, unsupportedParts } from './pod-spec.ts'
import type { Container, Pod } from './types.ts'

it.each([
  ['app', 'app'],
  ['app:1', 'app'],
  ['host:5000/team/app', 'host:5000/team/app'],
  ['host:5000/team/app:1.2', 'host:5000/team/app'],
  ['team/app:1@sha256:abc', 'team/app'],
  ['team/app@sha256:abc', 'team/app'],
])('%s is of the repository %s', (image, repository) => expect(repositoryOf(image)).toBe(repository))

const container = (more: Partial<Container> = {}): Container => ({ name: 'main', image: 'app:1', ...more })

it('knows only the images that it was given', () => {
  const images = { app: { command: 'node', args: [] } }
  expect(imageFor(images, container())).toBe(images.app)
  expect(imageFor(images, container({ image: 'toString' }))).toBeUndefined()
})

it('finds ports by number and by name', () => {
  const ports = [{ name: 'http', containerPort: 8080 }]
  expect(portNumber(container({ ports }), 'http')).toBe(8080)
  expect(portNumber(container({ ports }), '9090')).toBe(9090)
  expect(portNumber(container({ ports }), 9091)).toBe(9091)
  expect(portNumber(container({ ports }), 'metrics')).toBeUndefined()
})

it('names everything that it cannot do', () => {
  const pod: Pod = {
    metadata: { name: 'a', namespace: 'b', uid: 'c' },
    spec: {
      initContainers: [container()],
      volumes: [{ name: 'disk' }, { name: 'tmp', emptyDir: {} }],
      containers: [
        container({
          readinessProbe: { exec: {} },
          env: [{ name: 'M', valueFrom: { resourceFieldRef: {} } }],
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp', subPathExpr: '$(A)' }],
          lifecycle: { postStart: {}, preStop: { exec: {} } },
        }),
      ],
    },
  }
  expect(unsupportedParts(pod)).toHaveLength(7)
  const fine = container({ lifecycle: { preStop: { sleep: { seconds: 1 } } } })
  expect(unsupportedParts({ ...pod, spec: { containers: [fine] } })).toEqual([])
})
