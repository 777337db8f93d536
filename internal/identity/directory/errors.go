package directory

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// tryAgain is the retry delay when the provider is unavailable.
const tryAgain = 30 * time.Second

// limits are the exceptions for too many calls.
var limits = []string{
	"LimitExceededException", "RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException",
}

// translate converts an error of the SDK to a fault.
func translate(err error) error {
	if err == nil {
		return nil
	}
	api, answered := errors.AsType[smithy.APIError](err)
	switch {
	case !answered:
	case api.ErrorCode() == "UsernameExistsException", api.ErrorCode() == "AliasExistsException":
		return fault.Wrap(err, fault.Conflict, "このメールアドレスはすでに登録されています。")
	case api.ErrorCode() == "UnsupportedUserStateException":
		return fault.Wrap(err, fault.Conflict, "このユーザーはすでにログインしているため、招待を再送できません。")
	case api.ErrorCode() == "UserNotFoundException":
		return fault.Wrap(err, fault.NotFound, "ユーザーが見つかりません。")
	case api.ErrorCode() == "InvalidParameterException":
		return fault.Wrap(err, fault.Invalid, "メールアドレスまたは名前を登録できません。内容を確認してください。")
	case api.ErrorCode() == "CodeDeliveryFailureException":
		return unavailable(err, "招待メールを送信できませんでした。少し時間をおいて、もう一度お試しください。")
	case slices.Contains(limits, api.ErrorCode()):
		return unavailable(err, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	if isDown(err) {
		return unavailable(err, "認証サービスに接続できません。少し時間をおいて、もう一度お試しください。")
	}
	return fmt.Errorf("directory: %w", err)
}

func unavailable(err error, detail string) error {
	found := fault.Wrap(err, fault.Unavailable, "%s", detail)
	found.RetryAfter = tryAgain
	return found
}

// isDown reports whether the provider failed or could not be reached.
func isDown(err error) bool {
	if answer, ok := errors.AsType[*awshttp.ResponseError](err); ok &&
		answer.HTTPStatusCode() >= http.StatusInternalServerError {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, context.DeadlineExceeded)
}
