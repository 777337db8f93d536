// The peer "AI SDK on Node" of bench: what a team would write that takes the AI SDK as its manual has it. One process,
// no database, no sign-in. Called by bench:
//
//   node server.mjs PROVIDER_URL
//
// It prints its address, and answers POST / with {"prompt": …} by the UI message stream of the model's answer.
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
