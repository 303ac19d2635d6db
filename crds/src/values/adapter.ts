import { HEARTBEAT, PROFILES, TENANT_SECRETS } from '@service/domain'
import * as v from 'valibot'
import { integer, matching } from '../kubernetes.ts'
import {
  image,
  optionalSecretKeyRef,
  optionalSecretName,
  resources,
  secretKey,
  secretKeyRef,
} from './parts.ts'

const { adapterToken, adapterIndexer, wazuhCa } = TENANT_SECRETS
const [usernameKey, passwordKey] = adapterIndexer.keys

/** An address that the chart takes apart: without credentials, query and fragment. */
const serviceUrl = (description: string) =>
  matching(/^https?:\/\/[A-Za-z0-9.:[\]_-]+(\/[^\s?#]*)?$/, 500, description)

const IndexerCredentials = v.pipe(
  v.strictObject({
    name: v.optional(optionalSecretName('Name of the Secret; empty for none.'), adapterIndexer.name),
    usernameKey: v.optional(secretKey('Key of the user name.'), usernameKey),
    passwordKey: v.optional(secretKey('Key of the password.'), passwordKey),
  }),
  v.description('The user of the indexer. The adapter also starts while the Secret is missing.'),
)

export const Adapter = v.pipe(
  v.strictObject({
    image: image('service/adapter', '0.1.0', 'Image of the adapter.'),
    resources: resources(PROFILES.pilot.adapter),
    tokenSecretRef: secretKeyRef(
      adapterToken.name,
      adapterToken.keys[0],
      'The token that the adapter shows to the API. Mounted as a file, so that a new one needs no restart.',
    ),
    apiUrl: serviceUrl('Address of the API.'),
    apiCaSecretRef: optionalSecretKeyRef(
      { name: '', key: 'ca.crt' },
      'Certificate authority of the API, when it is a private one.',
    ),
    indexerUrl: serviceUrl('Address of the indexer.'),
    indexerCaSecretRef: optionalSecretKeyRef(
      { name: wazuhCa.name, key: wazuhCa.keys[0] },
      'Certificate authority of the indexer, when it is a private one; by default the one of this tenant.',
    ),
    indexerCredentialsSecretRef: v.optional(IndexerCredentials, {}),
    heartbeatSeconds: v.optional(
      integer(1, 120, 'Seconds between two heartbeats; less than what counts as silence.'),
      HEARTBEAT.defaultIntervalMs / 1_000,
    ),
    pollSeconds: v.optional(integer(1, 300, 'Seconds between two looks at the indexer.'), 5),
  }),
  v.description('The adapter, which forwards events from the indexer to the API.'),
)
