/** One variable of the environment: what it must look like, its default, what it is for. No default: required. */
export type Variable = {
  readonly expected: string
  readonly fallback?: string
  readonly about: string
  /** May also be given as `<NAME>_FILE`, the path of a file that holds the value. */
  readonly secret?: true
}

/** Every variable that the API reads; `--help` prints this table. */
export const VARIABLES = {
  SERVICE_AUTH_MODE: {
    expected: 'internal or proxy',
    fallback: 'internal',
    about:
      'Who signs users in: the service, or an identity proxy before it. In proxy mode /api/auth/* answers 404.',
  },
  SERVICE_TRUSTED_HEADER_USER: {
    expected: 'the name of a header',
    fallback: 'X-Forwarded-User',
    about:
      'Header of the identity proxy with the user. It counts where the e-mail header is absent, and has to be the e-mail address then.',
  },
  SERVICE_TRUSTED_HEADER_EMAIL: {
    expected: 'the name of a header',
    fallback: 'X-Forwarded-Email',
    about: 'Header of the identity proxy with the e-mail address of the user.',
  },
  SERVICE_TRUSTED_HEADER_GROUPS: {
    expected: 'the name of a header',
    fallback: 'X-Forwarded-Groups',
    about:
      'Header of the identity proxy with the groups. Nobody but the proxy may send it; roles are those of the service.',
  },
  SERVICE_TRUSTED_PROXY_CIDRS: {
    expected: 'address ranges such as 10.0.0.0/8, separated by commas, or empty for nobody',
    fallback: '',
    about:
      'Addresses of the identity proxy, as the service sees them on the connection. From elsewhere its headers are refused.',
  },
  SERVICE_LISTEN: { expected: 'host:port', fallback: '0.0.0.0:8080', about: 'Address of the API.' },
  SERVICE_METRICS_LISTEN: {
    expected: 'host:port',
    fallback: '0.0.0.0:9090',
    about: 'Address of /metrics.',
  },
  SERVICE_MSSP_ORIGINS: {
    expected: 'origins such as https://console.example.com, separated by commas',
    about: 'Origins of the MSSP console. The first one is canonical.',
  },
  SERVICE_CUSTOMER_ORIGIN_PATTERN: {
    expected: 'an origin whose first label is *, such as https://*.portal.example.com',
    about: 'Origins of the customer portals; the star stands for the slug.',
  },
  SERVICE_COOKIE_SECURE: {
    expected: 'true or false',
    fallback: 'true',
    about: 'Sends the session cookie over TLS only, and HSTS. False for development without TLS.',
  },
  SERVICE_DATABASE_APP_URL: {
    expected: 'a postgres:// URL of the role service_app',
    about: 'Database, subject to row-level security.',
    secret: true,
  },
  SERVICE_DATABASE_MSSP_URL: {
    expected: 'a postgres:// URL of the role service_mssp',
    about: 'Database, for work across tenants.',
    secret: true,
  },
  SERVICE_DATABASE_ADMIN_URL: {
    expected: 'a postgres:// URL of the role service_admin',
    about: 'Database, for `migrate` only.',
    secret: true,
  },
  SERVICE_DATABASE_SUPERUSER_URL: {
    expected: 'a postgres:// URL of a superuser and of any database there is, or empty',
    fallback: '',
    about:
      'For `migrate` only, and only with a database of our own: makes the database and its roles, and sets their passwords.',
    secret: true,
  },
  SERVICE_DATABASE_APP_USER: {
    expected: 'a name',
    fallback: '',
    about: 'Who enters SERVICE_DATABASE_APP_URL, when the address does not say it.',
    secret: true,
  },
  SERVICE_DATABASE_APP_PASSWORD: {
    expected: 'a text',
    fallback: '',
    about: 'Password for SERVICE_DATABASE_APP_URL, when the address does not hold it.',
    secret: true,
  },
  SERVICE_DATABASE_MSSP_USER: {
    expected: 'a name',
    fallback: '',
    about: 'Who enters SERVICE_DATABASE_MSSP_URL, when the address does not say it.',
    secret: true,
  },
  SERVICE_DATABASE_MSSP_PASSWORD: {
    expected: 'a text',
    fallback: '',
    about: 'Password for SERVICE_DATABASE_MSSP_URL, when the address does not hold it.',
    secret: true,
  },
  SERVICE_DATABASE_ADMIN_USER: {
    expected: 'a name',
    fallback: '',
    about: 'Who enters SERVICE_DATABASE_ADMIN_URL, when the address does not say it.',
    secret: true,
  },
  SERVICE_DATABASE_ADMIN_PASSWORD: {
    expected: 'a text',
    fallback: '',
    about: 'Password for SERVICE_DATABASE_ADMIN_URL, when the address does not hold it.',
    secret: true,
  },
  SERVICE_DATABASE_SUPERUSER_USER: {
    expected: 'a name',
    fallback: '',
    about: 'Who enters SERVICE_DATABASE_SUPERUSER_URL, when the address does not say it.',
    secret: true,
  },
  SERVICE_DATABASE_SUPERUSER_PASSWORD: {
    expected: 'a text',
    fallback: '',
    about: 'Password for SERVICE_DATABASE_SUPERUSER_URL, when the address does not hold it.',
    secret: true,
  },
  SERVICE_JWT_SIGNING_KEY: {
    expected: 'at least 32 bytes, as text or as base64:<data>',
    about: 'Signs worker tokens.',
    secret: true,
  },
  SERVICE_JWT_SIGNING_KEY_PREVIOUS: {
    expected: 'at least 32 bytes, as text or as base64:<data>',
    fallback: '',
    about: 'Former key, still accepted.',
    secret: true,
  },
  SERVICE_ADAPTER_SIGNING_KEY: {
    expected: 'at least 32 bytes, as text or as base64:<data>',
    about: 'Signs adapter tokens.',
    secret: true,
  },
  SERVICE_ADAPTER_SIGNING_KEY_PREVIOUS: {
    expected: 'at least 32 bytes, as text or as base64:<data>',
    fallback: '',
    about: 'Former key, still accepted.',
    secret: true,
  },
  SERVICE_EMAIL_HMAC_KEY: {
    expected: 'at least 32 bytes, as text or as base64:<data>',
    fallback: '',
    about:
      'Hides unknown e-mail addresses of failed logins. Derived from SERVICE_JWT_SIGNING_KEY when absent.',
    secret: true,
  },
  SERVICE_BOOTSTRAP_ADMIN_EMAIL: {
    expected: 'an e-mail address',
    fallback: '',
    about: 'First platform_admin, made by `migrate` when there is none.',
    secret: true,
  },
  SERVICE_BOOTSTRAP_ADMIN_PASSWORD: {
    expected: 'a text of 12 to 1024 characters',
    fallback: '',
    about: 'Password of the first platform_admin.',
    secret: true,
  },
  SERVICE_BOOTSTRAP_ADMIN_MUST_CHANGE: {
    expected: 'true or false',
    fallback: 'true',
    about: 'Whether the first platform_admin has to change the password.',
  },
  SERVICE_PASSWORD: {
    expected: 'a text of 12 to 1024 characters',
    fallback: '',
    about: 'The new password, for `service-auth set-password` only.',
    secret: true,
  },
  SERVICE_MSSP_ID: { expected: 'a lower-case UUID', about: 'Id of the MSSP.' },
  SERVICE_MSSP_NAME: { expected: 'a text', fallback: 'MSSP', about: 'Name of the MSSP.' },
  SERVICE_INSTALL_ID: { expected: 'a lower-case UUID', about: 'Id of this install.' },
  SERVICE_INSTALL_LABEL: { expected: 'a text', fallback: 'service', about: 'Label of this install.' },
  SERVICE_KUBECONFIG: {
    expected: 'the path of a kubeconfig, off, or empty for the service account of the pod',
    fallback: '',
    about: 'How the cluster is reached. Off: no tenant can be created. KUBECONFIG is never read.',
  },
  SERVICE_INSTALL_NAMESPACE: {
    expected: 'a namespace name',
    fallback: 'service-system',
    about: 'Namespace that holds the secret material of all tenants.',
  },
  SERVICE_INSTALL_SECRETS: {
    expected:
      'pairs <kind>=<name of a Secret>, separated by commas, with kinds of the list of install Secrets',
    fallback: '',
    about: 'For `secrets` only: the Secrets of the install that are made when they are absent.',
  },
  SERVICE_DEFAULT_LLM_PROVIDER: {
    expected: 'a text',
    fallback: 'openai-compatible',
    about: 'LLM provider of tenants that name none.',
  },
  SERVICE_DEFAULT_LLM_BASE_URL: {
    expected: 'an http or https address, or empty',
    fallback: '',
    about: 'LLM address of tenants that name none.',
  },
  SERVICE_DEFAULT_LLM_MODEL: {
    expected: 'a text',
    fallback: '',
    about: 'LLM model of tenants that name none.',
  },
  SERVICE_TENANT_CHART_REF: {
    expected: 'a chart reference, or empty for the chart that the operator carries',
    fallback: '',
    about: 'Chart of the tenant stack.',
  },
  SERVICE_TENANT_CHART_VERSION: {
    expected: 'a version',
    fallback: '0.1.0',
    about: 'Version of the tenant chart.',
  },
  SERVICE_IMAGE_ADAPTER: {
    expected: 'an image reference, or empty for the chart default',
    fallback: '',
    about: 'Image of the adapter.',
  },
  SERVICE_IMAGE_RUNS_WORKER: {
    expected: 'an image reference, or empty for the chart default',
    fallback: '',
    about: 'Image of the runs worker.',
  },
  SERVICE_IMAGE_LINUX_EP: {
    expected: 'an image reference, or empty for the chart default',
    fallback: '',
    about: 'Image of the endpoint agent.',
  },
  SERVICE_OPERATOR: {
    expected: 'embedded, separate or off',
    fallback: 'embedded',
    about: 'Whether the operator runs inside this process.',
  },
  SERVICE_ADAPTER_HEARTBEAT_SECONDS: {
    expected: 'a whole number from 1 to 120',
    fallback: '30',
    about: 'How often adapters report.',
  },
  SERVICE_ADAPTER_POLL_SECONDS: {
    expected: 'a whole number from 1 to 300',
    fallback: '5',
    about: 'How often adapters look for new events.',
  },
  SERVICE_FAILPOINT: {
    expected: 'empty, or <name>[:<nth hit>] with a name of the list of failpoints',
    fallback: '',
    about:
      'For drills: kills the process, as kill -9 does, at this moment of its work. Refused when NODE_ENV is production.',
  },
  SERVICE_LOG_LEVEL: {
    expected: 'trace, debug, info, warn, error or silent',
    fallback: 'info',
    about: 'Least level that is logged.',
  },
} as const satisfies Readonly<Record<string, Variable>>
export type VariableName = keyof typeof VARIABLES
