"""likewise serve on a Ray cluster: replicas of the same application behind Ray Serve's proxy.

    pip install "ray[serve]" ".[serve]"
    python examples/deploy/ray_deployment.py                   a cluster on this machine, until ctrl-C
    curl localhost:8000/v1/embeddings -d '{"input": "A cat sleeps."}'

On a running cluster: serve run --app-dir examples/deploy ray_deployment:application

A replica that dies is replaced, and the others answer meanwhile. Every node needs the models' files. Ray's proxy
listens on 127.0.0.1 here; before you open it to other machines, add a file of API keys to the settings (`likewise
serve keys add`).
"""

from typing import Any

from ray import serve

MODELS = ("likewise-mini",)
REPLICAS = 2


def server() -> Any:
    """The application of one replica; each replica creates its own, so that none has to be sent over the network."""
    from likewise.serve import ServeSettings, create_app

    # Ray's proxy forwards the Host header of its own clients, so it is not checked here
    return create_app(MODELS, settings=ServeSettings(host="0.0.0.0", log="errors"))


application = serve.deployment(
    serve.ingress(server)(), name="likewise", num_replicas=REPLICAS, max_ongoing_requests=512
).bind()


if __name__ == "__main__":
    serve.start(http_options={"host": "127.0.0.1", "port": 8000})
    serve.run(application, blocking=True)
