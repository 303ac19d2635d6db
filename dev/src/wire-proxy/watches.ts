import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorEvent } from './faults.ts'
import type { WireFault, WireRequest } from './faults.ts'

/** A watch on its way through the proxy. */
export type Watch = {
  readonly request: WireRequest
  readonly response: ServerResponse
  /** Ends it as the server would. */
  end(): void
  /** An ERROR event, then the end. */
  fail(code: number, reason: string): void
}

const LINE_FEED = 10
const GARBAGE = '{"type":"MODIFIED","object":{"metadata":{%%%\n'

/** Passes a watch on line by line; `faultNow` tells what shall happen to the line that has just come. */
export function passWatch(
  request: WireRequest,
  answer: IncomingMessage,
  response: ServerResponse,
  faultNow: () => WireFault | undefined,
): Watch {
  let rest: Buffer = Buffer.alloc(0)
  let lines = 0
  const end = (): void => {
    answer.destroy()
    response.end()
  }
  const pass = (line: Buffer): void => {
    lines += 1
    const fault = faultNow()
    if (fault?.type === 'garbage') {
      response.write(GARBAGE)
    } else if (fault?.type === 'truncate') {
      response.write(line.subarray(0, line.length >> 1))
      end()
    } else {
      response.write(line)
      if (fault?.type === 'close' && lines >= fault.afterLines) end()
    }
  }
  answer.on('data', (chunk: Buffer) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (;;) {
      const at = rest.indexOf(LINE_FEED)
      if (at === -1 || response.writableEnded) return
      const line = rest.subarray(0, at + 1)
      rest = rest.subarray(at + 1)
      pass(line)
    }
  })
  answer.on('end', () => response.end(rest))
  return {
    request,
    response,
    end,
    fail: (code, reason) => {
      response.write(errorEvent(code, reason))
      end()
    },
  }
}
