import { readFile } from 'node:fs/promises'
import * as v from 'valibot'

const path = (hint: string) => v.optional(v.pipe(v.string(), v.minLength(1, hint)), '')

const Environment = v.object({
  LOCAL_NODE_KUBECONFIG: path('set it to the path of a kubeconfig'),
  LOCAL_NODE_NAME: v.optional(v.pipe(v.string(), v.regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)), 'local-0'),
  LOCAL_NODE_DATA_DIR: path('set it to a folder for logs and volumes'),
  LOCAL_NODE_IMAGES: path('set it to the path of a JSON file: image repository to command and args'),
  PATH: v.optional(v.string(), '/usr/local/bin:/usr/bin:/bin'),
})

const Images = v.record(
  v.string(),
  v.strictObject({
    command: v.string(),
    args: v.array(v.string()),
    cwd: v.exactOptional(v.string()),
    env: v.exactOptional(v.record(v.string(), v.string())),
  }),
)

/** Reads the settings of the local node's own process; rejects with one sentence for each wrong one. */
export async function readLocalNodeConfig(env: Readonly<Record<string, string | undefined>> = process.env) {
  const settings = check(Environment, env, 'The local node cannot start')
  const text = await readFile(settings.LOCAL_NODE_IMAGES, 'utf8')
  const images = check(
    Images,
    JSON.parse(text) as unknown,
    `${settings.LOCAL_NODE_IMAGES} is not a map of images`,
  )
  return {
    kubeconfigPath: settings.LOCAL_NODE_KUBECONFIG,
    nodeName: settings.LOCAL_NODE_NAME,
    dataDir: settings.LOCAL_NODE_DATA_DIR,
    images,
    baseEnv: { PATH: settings.PATH },
  }
}

function check<const S extends v.GenericSchema>(schema: S, value: unknown, what: string): v.InferOutput<S> {
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const problems = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'value'}: ${issue.message}`)
  throw new Error(`${what}: ${problems.join('; ')}`)
}
