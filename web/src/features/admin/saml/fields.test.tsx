import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useState } from 'react'
import { expect, it } from 'vitest'
import type { SamlConfig } from '@/lib/api'
import { SourceFields } from './fields'
import { initialValues } from './samlForm'

const config: SamlConfig = {
  enabled: false,
  sp_entity_id: '',
  sp_acs_url: '',
  sp_metadata_url: '',
  idp_metadata_url: '',
  idp_metadata_error: '',
  idp_entity_id: '',
  idp_sso_url: '',
  idp_certificates: [],
  email_attribute: '',
  name_attribute: '',
  email_domains: [],
  allowed_email_domains: [],
}

function Form() {
  const [values, setValues] = useState(() => initialValues(config))
  return (
    <SourceFields
      config={config}
      values={values}
      errors={{}}
      onChange={(next) => setValues({ ...values, ...next })}
    />
  )
}

it('removes the error of a file when another one is chosen', async () => {
  render(<Form />)
  const choose = (text: string) =>
    userEvent.upload(
      screen.getByLabelText('XMLファイルを選択', { selector: 'input' }),
      new File([text], 'metadata.xml', { type: 'text/xml' }),
    )
  await choose('x'.repeat(256 * 1024 + 1))
  await screen.findByText('ファイルが大きすぎます。256 KBまでのファイルを選択してください。')
  await choose(
    '<md:EntityDescriptor entityID="https://idp.example"><md:IDPSSODescriptor/></md:EntityDescriptor>',
  )
  await screen.findByText('エンティティID：https://idp.example')
  expect(screen.queryByText(/ファイルが大きすぎます/)).toBeNull()
})
