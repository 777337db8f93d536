// The peer "AI SDK on Node" of bench. It uses the AI SDK as its manual describes, in one process, without database and
// sign-in. bench runs it with:
//
//   node server.mjs PROVIDER_URL
//
// It prints its address. The response to POST / with {"prompt": …} is the UI message stream of the model's answer.
import { createServer } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'

const provider = createOpenAICompatible({ name: 'bench', baseURL: process.argv[2], apiKey: 'bench' })

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  const result = streamText({
    model: provider('m'),
    system: 'あなたは日本の職場で働く人を助けるアシスタントです。',
    prompt: JSON.parse(body).prompt,
  })
  result.pipeUIMessageStreamToResponse(response)
})

server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
  console.log(JSON.stringify({ address: `127.0.0.1:${server.address().port}` }))
})
process.stdin.on('end', () => process.exit(0)).resume()
