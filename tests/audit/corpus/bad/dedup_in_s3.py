"""The ids of what was done, in one object."""

import json

import boto3

s3 = boto3.client("s3")
KEY = "state/processed_ids.json"


def mark_done(bucket, message_id):
    done = json.loads(s3.get_object(Bucket=bucket, Key=KEY)["Body"].read())
    done.append(message_id)
    s3.put_object(Bucket=bucket, Key=KEY, Body=json.dumps(done))  # expect: TQ401
