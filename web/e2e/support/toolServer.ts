import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A tool as the server lists it. */
export interface OfferedTool {
  name: string
  title: string
  description: string
  inputSchema: { type: 'object'; properties: Record<string, unknown>; required?: string[] }
  annotations?: Record<string, boolean>
}

/** The parameters of a call of a tool. */
export interface CallParams {
  name?: string
  requestState?: string
  inputResponses?: Record<string, { action: string; content?: Record<string, unknown> }>
}

interface Message {
  id?: number
  method?: string
  params?: CallParams
}

const done = () => ({ content: [{ type: 'text', text: '登録しました。' }] })

/** A server of the Model Context Protocol without sessions. By default, its tools return that they are done. */
export class ToolServer {
  private readonly server: Server

  constructor(
    readonly tools: OfferedTool[],
    private readonly answer: (params: CallParams) => unknown = done,
  ) {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const message = JSON.parse(Buffer.concat(chunks).toString() || '{}') as Message
        const result = this.result(message.method ?? '', message.params ?? {})
        if (message.id === undefined || result === undefined)
          return response.writeHead(result ? 202 : 400).end()
        response.setHeader('Content-Type', 'application/json')
        return response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
      })
    })
  }

  private result(method: string, params: CallParams): unknown {
    if (method === 'initialize') {
      const info = { name: 'crm', version: '1' }
      return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: info }
    }
    if (method === 'tools/list') return { tools: this.tools }
    if (method === 'tools/call') return this.answer(params)
    return method.startsWith('notifications/') ? {} : undefined
  }

  /** Starts the server, and returns its URL. */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/mcp`
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }
}
