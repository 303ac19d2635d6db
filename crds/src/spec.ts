import { PROFILE_NAMES } from '@service/domain'
import * as v from 'valibot'
import { TenantConfig } from './config.ts'
import { imageReference } from './image.ts'
import { flag, integer, rules, text, uuid } from './kubernetes.ts'

const MAX_REVISION = Number.MAX_SAFE_INTEGER

const Teardown = v.pipe(
  v.object({
    tenantId: uuid('Must equal spec.tenantId.'),
    uid: text(64, 'Must equal metadata.uid; an order for another uid is not followed.'),
    force: v.optional(flag('Go on when uninstall hooks fail.'), false),
  }),
  v.description('Order to uninstall the release and delete the namespace. Nothing is torn down without it.'),
)

const Chart = v.pipe(
  v.object({
    ref: v.optional(
      text(500, 'Reference of the tenant chart; empty for the one that the operator carries.'),
      '',
    ),
    version: v.optional(text(64, 'Version of the tenant chart; empty for what the reference holds.'), ''),
  }),
  v.description('The tenant chart.'),
)

const Images = v.pipe(
  v.object({
    adapter: v.optional(imageReference('Image of the adapter; empty for the chart default.'), ''),
    runsWorker: v.optional(imageReference('Image of the runs worker; empty for the chart default.'), ''),
    linuxEp: v.optional(imageReference('Image of the endpoint agent; empty for the chart default.'), ''),
  }),
  v.description('Images that replace those of the chart.'),
)

/** `spec`, written by the API alone (decision 8.2). */
export const TenantSpec = v.pipe(
  v.object({
    tenantId: v.pipe(
      uuid('Id of the tenant. Immutable.'),
      rules({ rule: 'self == oldSelf', message: 'tenantId is immutable' }),
    ),
    revision: v.pipe(
      integer(1, MAX_REVISION, 'Raised by every verb that changes what is wanted. Never falls.'),
      rules({ rule: 'self >= oldSelf', message: 'revision may not fall' }),
    ),
    desired: v.pipe(
      v.picklist(['Run', 'Suspend', 'Decommission']),
      v.description('What is wanted of this tenant.'),
    ),
    teardown: v.optional(Teardown),
    retryToken: v.optional(
      text(64, 'Changes with each retry; the operator then starts a failed step again.'),
      '',
    ),
    secretsRevision: v.pipe(
      integer(1, MAX_REVISION, 'Raised when the material in the install namespace changes. Never falls.'),
      rules({ rule: 'self >= oldSelf', message: 'secretsRevision may not fall' }),
    ),
    placement: v.optional(
      v.pipe(
        v.picklist(['cluster', 'remote']),
        rules({ rule: 'self == oldSelf', message: 'placement is immutable' }),
        v.description("Where the tenant stack runs: in this cluster or in the customer's. Immutable."),
      ),
      'cluster',
    ),
    profile: v.optional(
      v.pipe(v.picklist(PROFILE_NAMES), v.description('Sizes and timeouts of the tenant stack.')),
      'pilot',
    ),
    displayName: text(255, 'Name of the customer.'),
    chart: v.optional(Chart, {}),
    images: v.optional(Images, {}),
    config: TenantConfig,
  }),
  rules(
    {
      rule: "!has(self.teardown) || self.desired == 'Decommission'",
      message: 'teardown needs desired to be Decommission',
    },
    {
      rule: '!has(self.teardown) || self.teardown.tenantId == self.tenantId',
      message: 'teardown.tenantId must equal tenantId',
    },
    {
      rule: '!has(oldSelf.teardown) || has(self.teardown)',
      message: 'teardown cannot be withdrawn',
    },
    {
      rule: 'self.desired == oldSelf.desired || self.revision > oldSelf.revision',
      message: 'a change of desired needs a higher revision',
    },
  ),
  v.description('What the service wants of this tenant. Written by the API alone.'),
)
export type TenantSpec = v.InferOutput<typeof TenantSpec>
