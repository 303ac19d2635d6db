import { ServiceError } from '@service/domain'

/** The whole body, at most `limit` bytes; a longer one is refused as soon as that is known, chunked or not. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > limit) throw tooLarge(limit)
  if (request.body === null) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of readable(request.body)) {
    size += chunk.byteLength
    if (size > limit) throw tooLarge(limit)
    chunks.push(chunk)
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size)
}

async function* readable(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new ServiceError('malformed_request', 'The body ended before it was complete', {}, error)
      })
      if (done) return
      yield value
    }
  } finally {
    reader.releaseLock()
  }
}

/** Refuses everything but JSON in UTF-8 without content coding (415). */
export function requireJson(headers: Headers): void {
  const [type, ...parameters] = (headers.get('content-type') ?? '')
    .split(';')
    .map((part) => part.trim().toLowerCase())
  const plain = ['', 'identity'].includes((headers.get('content-encoding') ?? '').toLowerCase())
  const utf8 = parameters.every((parameter) => ['', 'charset=utf-8', 'charset="utf-8"'].includes(parameter))
  if (type !== 'application/json' || !utf8 || !plain)
    throw new ServiceError('unsupported_media_type', 'Send application/json in UTF-8, without content coding')
}

const tooLarge = (limit: number): ServiceError =>
  new ServiceError('body_too_large', `The body may have at most ${limit} bytes`)
