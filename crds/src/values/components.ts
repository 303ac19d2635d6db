import { PROFILES } from '@service/domain'
import * as v from 'valibot'
import { flag, integer, matching } from '../kubernetes.ts'
import { amounts, image, labels, persistence, resources } from './parts.ts'

const { pilot } = PROFILES

/** One version everywhere: manager, indexer and dashboard of different ones do not work together. */
const WAZUH_VERSION = '4.14.5'

const Manager = v.pipe(
  v.strictObject({
    image: image('wazuh/wazuh-manager', WAZUH_VERSION, 'Image of the manager.'),
    resources: resources(pilot.wazuh.manager.resources),
    persistence: persistence(pilot.wazuh.manager.storage),
  }),
  v.description('The Wazuh manager.'),
)

const SysctlInit = v.pipe(
  v.strictObject({
    enabled: v.optional(
      flag(
        'Whether a privileged container raises vm.max_map_count of the node first. Needs a namespace that Pod Security lets privileged pods into.',
      ),
      false,
    ),
  }),
  v.description('Memory mapping of the indexer; without it, it reads its files in the plain way.'),
)

const Indexer = v.pipe(
  v.strictObject({
    image: image('wazuh/wazuh-indexer', WAZUH_VERSION, 'Image of the indexer.'),
    resources: resources(pilot.wazuh.indexer.resources),
    persistence: persistence(pilot.wazuh.indexer.storage),
    jvm: v.optional(
      v.pipe(
        v.strictObject({
          heap: v.optional(matching(/^[0-9]+[mg]$/, 8, 'Size of the heap.'), pilot.wazuh.indexer.heap),
        }),
        v.description('The Java runtime.'),
      ),
      {},
    ),
    sysctlInit: v.optional(SysctlInit, {}),
  }),
  v.description('The Wazuh indexer.'),
)

const Dashboard = v.pipe(
  v.strictObject({
    enabled: v.optional(flag('Whether the dashboard is installed.'), true),
    image: image('wazuh/wazuh-dashboard', WAZUH_VERSION, 'Image of the dashboard.'),
    resources: resources(pilot.wazuh.dashboard.resources),
  }),
  v.description('The Wazuh dashboard.'),
)

export const Components = v.pipe(
  v.strictObject({
    wazuh: v.optional(
      v.pipe(
        v.strictObject({
          enabled: v.optional(flag('Whether manager, indexer and dashboard are installed.'), true),
          nodeSelector: v.optional(
            labels('Labels of the nodes that these pods and the endpoint agent run on.'),
            {},
          ),
          manager: v.optional(Manager, {}),
          indexer: v.optional(Indexer, {}),
          dashboard: v.optional(Dashboard, {}),
        }),
        v.description('The endpoint-security stack.'),
      ),
      {},
    ),
    linuxep: v.optional(
      v.pipe(
        v.strictObject({ enabled: v.optional(flag('Whether the endpoint agent is installed.'), false) }),
        v.description('The endpoint agent; its resources are under the top-level key linuxep.'),
      ),
      {},
    ),
    misp: v.optional(
      v.pipe(
        v.strictObject({
          enabled: v.optional(
            v.pipe(v.literal(false), v.description('Always false; this part does not exist yet.')),
            false,
          ),
        }),
        v.description('Threat intelligence sharing.'),
      ),
      {},
    ),
  }),
  v.description('The parts of the tenant stack.'),
)

/** What Helm adds to the values of every subchart before it asks the schema; nobody sets it. */
const givenByHelm = {
  global: v.optional(v.pipe(v.strictObject({}), v.description('Helm adds this key. Nothing may be in it.'))),
}

export const WazuhSubchart = v.pipe(
  v.strictObject(givenByHelm),
  v.description('Helm adds this key. The values of the stack are under components.wazuh.'),
)

export const Linuxep = v.pipe(
  v.strictObject({
    image: image('service/linuxep', '0.1.0', 'Image of the endpoint agent.'),
    resources: resources(pilot.linuxep),
    persistence: persistence('1Gi'),
    ...givenByHelm,
  }),
  v.description('The endpoint agent subchart.'),
)

export const ResourceQuota = v.pipe(
  v.strictObject({
    requests: amounts(pilot.quota.requests, 'Sum of all requests.'),
    limits: amounts(pilot.quota.limits, 'Sum of all limits.'),
    persistentVolumeClaims: v.optional(
      integer(0, 1000, 'Number of volume claims.'),
      pilot.quota.persistentVolumeClaims,
    ),
    pods: v.optional(integer(1, 10_000, 'Number of pods.'), pilot.quota.pods),
  }),
  v.description('What all pods of the namespace may use together.'),
)

export const LimitRange = v.pipe(
  v.strictObject({
    defaultRequest: amounts({ cpu: '50m', memory: '64Mi' }, 'Requests of a container that names none.'),
    default: amounts({ cpu: '200m', memory: '256Mi' }, 'Limits of a container that names none.'),
  }),
  v.description('What a container gets that asks for nothing.'),
)
