export type Answer = {
  readonly status: number
  readonly body: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer in the shape in which OpenSearch reports errors. */
export class IndexerError extends Error {
  override readonly name = 'IndexerError'
  readonly status: number
  readonly type: string
  constructor(status: number, type: string, reason: string) {
    super(reason)
    this.status = status
    this.type = type
  }
}

export const parsingError = (reason: string): IndexerError =>
  new IndexerError(400, 'parsing_exception', reason)

export const errorBody = ({ status, type, message }: IndexerError) => {
  const cause = { type, reason: message }
  return { error: { root_cause: [cause], ...cause }, status }
}
