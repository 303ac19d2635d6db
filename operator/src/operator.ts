import shell, { ResourceEventType, ResourceMetaImpl } from '@dot-i/k8s-operator'
import type { ResourceEvent, ResourceMeta } from '@dot-i/k8s-operator'
import { TENANTS } from '@service/crds'
import type { Tenant } from '@service/crds'
import { GROUP, PLURAL, VERSION } from '@service/domain'
import type { HitFailpoint } from '@service/domain'
import { startReflector } from '@service/kube'
import type { KubeClient, KubeObject, Reflector, ReflectorOptions, ResourceType } from '@service/kube'
import type { Logger } from 'pino'
import { withoutForeignKubeconfig } from './config.ts'

type Shell = typeof shell.default
// A CommonJS package: Node hands out its exports as the default, tools that interpret its marker the class itself.
const Operator: Shell = typeof shell === 'function' ? shell : shell.default

export type TenantOperatorOptions = {
  readonly kube: KubeClient
  readonly log: Logger
  readonly hit: HitFailpoint
  /** Called for every change of a Tenant, in order; must not wait. */
  readonly onTenant: (event: ResourceEvent) => void
}

type Watched = Pick<ReflectorOptions<KubeObject>, 'namespace' | 'labelSelector' | 'fieldSelector'>

/**
 * The operator's shell: the lifecycle, the events and the finalizer contract of the base class, over our own reflector,
 * queue and client. The base's own ways of doing these things end the process at any fault of a watch, work on one event
 * at a time and swallow errors: none of them is left reachable.
 */
export class TenantOperator extends Operator {
  readonly #options: TenantOperatorOptions
  readonly #reflectors = new Map<string, Reflector<KubeObject>>()

  constructor(options: TenantOperatorOptions) {
    const { log } = options
    const logger = {
      debug: (text: string) => log.debug(text),
      info: (text: string) => log.info(text),
      warn: (text: string) => log.warn(text),
      error: (text: string) => log.error(text),
    }
    // The base looks for a kubeconfig when it is built; what it finds is never used.
    super(logger)
    this.#options = options
  }

  /** Builds one without reading a kubeconfig that is not ours. */
  static create(options: TenantOperatorOptions): TenantOperator {
    return withoutForeignKubeconfig(() => new TenantOperator(options))
  }

  protected override async init(): Promise<void> {
    const onEvent = async (event: ResourceEvent): Promise<void> => this.#options.onTenant(event)
    await this.watchResource(GROUP, VERSION, PLURAL, onEvent)
  }

  protected override async watchResource(
    group: string,
    version: string,
    plural: string,
    onEvent: (event: ResourceEvent) => Promise<void>,
    namespace?: string,
  ): Promise<void> {
    const apiVersion = group === '' ? version : `${group}/${version}`
    const type: ResourceType =
      apiVersion === TENANTS.apiVersion && plural === TENANTS.plural
        ? TENANTS
        : { apiVersion, kind: plural, plural, namespaced: namespace !== undefined }
    this.watch(type, namespace === undefined ? {} : { namespace }, (event) => {
      onEvent(event).catch((error: unknown) =>
        this.#options.log.error({ err: error }, 'event was not handled'),
      )
    })
  }

  /** Watches a kind; `reflector(type)` gives the cache. */
  watch(
    type: ResourceType,
    watched: Watched,
    onEvent: (event: ResourceEvent) => void,
  ): Reflector<KubeObject> {
    const { kube, log } = this.#options
    const reflector = startReflector<KubeObject>({
      ...watched,
      client: kube,
      type,
      onEvent: ({ type: change, object }) => onEvent(toEvent(type, change, object)),
      onError: (error) => log.warn({ err: error, kind: type.kind }, 'the watch was interrupted'),
    })
    this.#reflectors.set(type.kind, reflector)
    return reflector
  }

  reflectors(): ReadonlyMap<string, Reflector<KubeObject>> {
    return this.#reflectors
  }

  tenants(): Reflector<KubeObject> | undefined {
    return this.#reflectors.get(TENANTS.kind)
  }

  /** The definition comes with the install, not from the operator: it has no right to change it. */
  protected override registerCustomResourceDefinition(): never {
    throw new Error('the operator does not register custom resource definitions')
  }

  protected override getCustomResourceApiUri(
    group: string,
    version: string,
    plural: string,
    namespace?: string,
  ): string {
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
    return namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`
  }

  /**
   * Sets the finalizer on what lacks it; on what is being deleted runs `deleteAction` and then takes it away. An action
   * that is not finished throws, and the finalizer stays. Errors reach the caller.
   */
  override async handleResourceFinalizer(
    event: ResourceEvent,
    finalizer: string,
    deleteAction: (event: ResourceEvent) => Promise<void>,
  ): Promise<boolean> {
    const { metadata } = event.object
    if (metadata === undefined || event.type === ResourceEventType.Deleted) return false
    const finalizers = metadata.finalizers ?? []
    if (metadata.deletionTimestamp === undefined) {
      if (finalizers.includes(finalizer)) return false
      await this.setResourceFinalizers(event.meta, [...finalizers, finalizer])
      this.#options.hit('operator.finalizer.added')
      return true
    }
    if (!finalizers.includes(finalizer)) return true
    await deleteAction(event)
    await this.setResourceFinalizers(
      event.meta,
      finalizers.filter((each) => each !== finalizer),
    )
    this.#options.hit('operator.finalizer.removed')
    return true
  }

  /** On top of the version that the list was read from: a stale list cannot undo what others have written. */
  protected override async setResourceFinalizers(meta: ResourceMeta, finalizers: string[]): Promise<void> {
    const patch = { metadata: { finalizers, resourceVersion: meta.resourceVersion } }
    await this.#options.kube.patch(TENANTS, { name: meta.name }, patch)
  }

  protected override setResourceStatus(): never {
    throw new Error('statuses are written by the reconciler')
  }

  protected override patchResourceStatus(): never {
    throw new Error('statuses are written by the reconciler')
  }

  /** Ends the watches; `stopped` tells when they have ended. */
  override stop(): void {
    void this.stopped()
  }

  async stopped(): Promise<void> {
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.stop()))
  }
}

function toEvent(type: ResourceType, change: 'set' | 'deleted', object: KubeObject): ResourceEvent {
  const known = change === 'deleted' ? ResourceEventType.Deleted : ResourceEventType.Modified
  return eventOf(type, known, object)
}

function eventOf(type: ResourceType, change: ResourceEvent['type'], object: KubeObject): ResourceEvent {
  const plain = object as unknown as ResourceEvent['object']
  return { meta: ResourceMetaImpl.createWithPlural(type.plural, plain), type: change, object: plain }
}

/** A Tenant as an event of the shell, for its finalizer contract. */
export const tenantEvent = (tenant: Tenant): ResourceEvent =>
  eventOf(TENANTS, ResourceEventType.Modified, tenant)
