import * as v from 'valibot'
import { flag, integer, matching, text } from '../../kubernetes.ts'
import { optionalSecretKeyRef, optionalSecretName, quantity, secretKey } from '../parts.ts'
import { choice, group, image, placement } from './parts.ts'

const NAME = /^[a-z_][a-z0-9_]{0,62}$/

const key = (name: string) => v.optional(secretKey('Key in the Secret.'), name)

const External = group(
  {
    host: v.optional(matching(/^[A-Za-z0-9.:_-]*$/, 253, 'Host of the database. Needed when external.'), ''),
    port: v.optional(integer(1, 65_535, 'Port of the database.'), 5432),
    database: v.optional(matching(NAME, 63, 'Name of the database.'), 'service'),
    sslMode: v.optional(
      choice(
        ['disable', 'require', 'verify-full'],
        'Whether the connection is encrypted, and whether the certificate is checked.',
      ),
      'verify-full',
    ),
    caSecretRef: optionalSecretKeyRef(
      { name: '', key: 'ca.crt' },
      'Certificate authority of the database, when it is a private one.',
    ),
    existingSecret: v.optional(
      optionalSecretName('Secret with the credentials of the three roles. Needed when external.'),
      '',
    ),
    keys: v.optional(
      group(
        {
          adminUser: key('admin_user'),
          adminPassword: key('admin_password'),
          appUser: key('app_user'),
          appPassword: key('app_password'),
          msspUser: key('mssp_user'),
          msspPassword: key('mssp_password'),
        },
        'Keys of that Secret.',
      ),
      {},
    ),
  },
  'A database that is there already; its roles are made with docs/database-roles.sql.',
)

export const Postgres = group(
  {
    enabled: v.optional(flag('Whether the chart brings a PostgreSQL. False for an external one.'), true),
    image: v.optional(
      group(
        image('postgres', '18', 'Tag of PostgreSQL, 16 to 18.'),
        'The official image, or one with its contract.',
      ),
      {},
    ),
    runAsUser: v.optional(
      integer(1, 4_294_967_295, 'User id in the image: 999 on Debian, 70 on Alpine.'),
      999,
    ),
    persistence: v.optional(
      group(
        {
          size: v.optional(quantity('Size of the volume. It cannot be changed by an upgrade.'), '20Gi'),
          storageClass: v.optional(text(253, 'Storage class; empty for the default one.'), ''),
        },
        'The volume. It stays after an uninstall.',
      ),
      {},
    ),
    ...placement,
    external: v.optional(External, {}),
  },
  'The database.',
)
