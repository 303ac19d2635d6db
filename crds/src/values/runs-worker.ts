import { PROFILES, TENANT_SECRETS } from '@service/domain'
import * as v from 'valibot'
import { integer } from '../kubernetes.ts'
import { image, resources, secretKeyRef } from './parts.ts'

export const RunsWorker = v.pipe(
  v.strictObject({
    image: image('service/runs-worker', '0.1.0', 'Image of the runs worker.'),
    resources: resources(PROFILES.pilot.runsWorker),
    concurrency: v.optional(integer(1, 32, 'Investigations at once; 1 is serial.'), 1),
    drainSeconds: v.optional(
      integer(0, 3600, 'Seconds that a stopping worker may finish in, when concurrency is above 1.'),
      60,
    ),
    tokenSecretRef: secretKeyRef(
      TENANT_SECRETS.runsWorkerToken.name,
      TENANT_SECRETS.runsWorkerToken.keys[0],
      'The token that the worker shows to the API. Mounted as a file, so that a new one needs no restart.',
    ),
  }),
  v.description('The worker that runs AI-assisted triage.'),
)
