module github.com/tsumugi-ai/tsumugi/test/ocsf

go 1.26.0

require github.com/valllabh/ocsf-schema-golang v1.0.3

require (
	github.com/klauspost/compress v1.17.8 // indirect
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1 // indirect
)
