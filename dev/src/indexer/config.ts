import * as v from 'valibot'

const Environment = v.object({
  INDEXER_PORT: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,5}$/, 'must be a port'),
      v.transform(Number),
      v.maxValue(65_535, 'must be a port'),
    ),
    '9201',
  ),
  INDEXER_HOST: v.optional(v.pipe(v.string(), v.ip('must be an IP address'))),
  INDEXER_DATA_DIR: v.optional(v.pipe(v.string(), v.minLength(1, 'must be a folder'))),
})

/** Reads the settings of the stand-in's own process; throws one sentence for each wrong one. */
export function readIndexerConfig(env: Readonly<Record<string, string | undefined>> = process.env) {
  const result = v.safeParse(Environment, env)
  if (!result.success) {
    const problems = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'environment'} ${issue.message}`)
    throw new Error(`The indexer cannot start: ${problems.join('; ')}`)
  }
  const { INDEXER_PORT: port, INDEXER_HOST: host, INDEXER_DATA_DIR: dataDir } = result.output
  return { port, ...(host === undefined ? {} : { host }), ...(dataDir === undefined ? {} : { dataDir }) }
}
